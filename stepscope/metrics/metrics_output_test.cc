// SPDX-License-Identifier: Apache-2.0
#include "stepscope/metrics/metrics_output.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

namespace stepscope {
namespace {

using namespace std::chrono_literals;

int connect_to(std::uint16_t port) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return client;
  ::close(client);
  return -1;
}

// The server's whole answer.
std::string ask(std::uint16_t port, const std::string& request) {
  const int client = connect_to(port);
  if (client < 0) return "no connection";
  EXPECT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::recv(client, part.data(), part.size(), 0)) > 0;)
    answer.append(part.data(), static_cast<std::size_t>(got));
  ::close(client);
  return answer;
}
std::string get(std::uint16_t port, const std::string& path) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::unique_ptr<MetricsOutput> endpoint() {
  auto output = MetricsOutput::open({.port = std::uint16_t{0}});
  EXPECT_TRUE(output) << output.error().message();
  return std::move(*output);
}

TEST(MetricsOutput, ServesTheLastTextThatWasPublished) {
  const auto output = endpoint();
  EXPECT_TRUE(get(output->port(), "/metrics").ends_with("\r\n\r\n# EOF\n"));
  output->publish("one 1\n# EOF\n");
  output->publish("two 2\n# EOF\n");
  for (const char* path : {"/metrics", "/", "/metrics?x=1"}) {
    const std::string answer = get(output->port(), path);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NE(answer.find("Content-Type: application/openmetrics-text; version=1.0.0; "
                          "charset=utf-8\r\n"),
              std::string::npos);
    EXPECT_NE(answer.find("Content-Length: 12\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\ntwo 2\n# EOF\n"));
  }
  EXPECT_TRUE(get(output->port(), "/other").starts_with("HTTP/1.1 404 "));
  const std::string rest = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_TRUE(ask(output->port(), "POST /" + rest).starts_with("HTTP/1.1 405 "));
  EXPECT_FALSE(ask(output->port(), "nonsense\r\n\r\n").starts_with("HTTP/1.1 200 "));
  const std::string head = ask(output->port(), "HEAD /metrics" + rest);
  EXPECT_NE(head.find("Content-Length: 12\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(MetricsOutput, APortThatIsTakenIsAClearError) {
  const auto first = endpoint();
  const auto second = MetricsOutput::open({.port = first->port()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(),
            "cannot serve at 127.0.0.1:" + std::to_string(first->port()) +
                ": Address already in use; another program uses this port; choose another, or 0");
  const auto nowhere = MetricsOutput::open({.port = std::uint16_t{0}, .address = "localhost"});
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message().find("'localhost' is no IPv4 address"), std::string::npos);
}

// A page of another site can have its own name resolve to this host and then ask it.
TEST(MetricsOutput, AnswersThisHostAlone) {
  const auto output = endpoint();
  const auto ask_for = [&](const std::string& host) {
    return ask(output->port(),
               "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  };
  for (const char* host : {"localhost", "LocalHost:80", "a.localhost:9400", "127.0.0.1",
                           "127.0.0.1:9400", "10.1.2.3:80", "[::1]:9400"})
    EXPECT_TRUE(ask_for(host).starts_with("HTTP/1.1 200 ")) << host << ": " << ask_for(host);
  for (const char* host : {"evil.example", "evil.example:9400", "localhost.evil.example",
                           "127.0.0.1.evil.example", "evillocalhost", "[evil]", "[::1", ""})
    EXPECT_FALSE(ask_for(host).starts_with("HTTP/1.1 200 ")) << host;
  EXPECT_TRUE(ask_for("evil.example").starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask(output->port(), "GET /metrics HTTP/1.0\r\n\r\n").find(" 200 ") !=
              std::string::npos)
      << "no browser asks without a Host";
}

TEST(MetricsOutput, OtherAddressesNeedAToken) {
  const auto open = MetricsOutput::open({.port = std::uint16_t{0}, .address = "0.0.0.0"});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message(),
            "0.0.0.0:0 would show the job to everybody in the network; give --token-file, or serve "
            "on 127.0.0.1");
  const auto guarded = MetricsOutput::open(
      {.port = std::uint16_t{0}, .address = "0.0.0.0", .token = "a long random word"});
  ASSERT_TRUE(guarded) << guarded.error().message();
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: node7\r\nConnection: close\r\n";
  EXPECT_TRUE(ask((*guarded)->port(), request + "\r\n").starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(ask((*guarded)->port(), request + "Authorization: Bearer a long random word\r\n\r\n")
                  .starts_with("HTTP/1.1 200 "));
}

// Silent clients have to go where there are too many, and the client that asks is answered.
TEST(MetricsOutput, SilentClientsMakeRoom) {
  auto text = TextEndpoint::open({.most_clients = 20}, {{.path = "/", .type = "a", .text = "b"}});
  ASSERT_TRUE(text) << text.error().message();
  const std::uint16_t port = (*text)->port();
  std::vector<int> silent;
  for (int i = 0; i < 60; ++i) silent.push_back(connect_to(port));
  EXPECT_TRUE(get(port, "/").ends_with("\r\n\r\nb"));
  char byte = 0;
  EXPECT_EQ(::recv(silent.front(), &byte, 1, 0), 0) << "the first is disconnected";
  EXPECT_EQ(::recv(silent.back(), &byte, 1, MSG_DONTWAIT), -1) << "the last is not";
  for (const int client : silent) ::close(client);
}

TEST(MetricsOutput, ClientsThatSayNothingOrTooMuchDoNotStopIt) {
  const auto output = endpoint();
  output->publish("x 1\n# EOF\n");
  ::close(connect_to(output->port()));  // disconnects at once
  const std::string endless(20'000, 'a');
  const int talker = connect_to(output->port());
  [[maybe_unused]] const auto sent = ::send(talker, endless.data(), endless.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(get(output->port(), "/metrics").ends_with("x 1\n# EOF\n"));
  ::close(talker);
}

TEST(MetricsOutput, SilentClientsDelayNoOther) {
  const auto output = endpoint();
  output->publish("x 1\n# EOF\n");
  std::vector<int> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(connect_to(output->port()));
    ASSERT_GE(silent.back(), 0) << "client " << i;
    if (i % 2 == 0) {
      EXPECT_EQ(::send(silent.back(), "GET /met", 8, MSG_NOSIGNAL), 8);
    }
  }
  EXPECT_TRUE(get(output->port(), "/metrics").ends_with("x 1\n# EOF\n"));
  // All are still connected: nobody was turned away to let the last one in.
  for (const int client : silent) {
    char byte = 0;
    EXPECT_EQ(::recv(client, &byte, 1, MSG_DONTWAIT), -1);
    ::close(client);
  }
}

TEST(MetricsOutput, ManyAskWhileOnePublishes) {
  const auto output = endpoint();
  std::atomic<bool> stop{false};
  std::thread publisher([&] {
    for (int i = 0; !stop.load(); ++i)
      output->publish("x " + std::to_string(i) + "\ny " + std::to_string(i) + "\n# EOF\n");
  });
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::string answer = get(output->port(), "/metrics");
        const std::string body = answer.substr(answer.find("\r\n\r\n") + 4);
        if (body == "# EOF\n") continue;
        const std::string x = body.substr(2, body.find('\n') - 2);
        EXPECT_EQ(body, "x " + x + "\ny " + x + "\n# EOF\n");  // never a mixture of two texts
      }
    });
  for (std::thread& reader : readers) reader.join();
  stop.store(true);
  publisher.join();
}

TEST(MetricsOutput, AFileIsReplacedAsAWhole) {
  const std::string path = testing::TempDir() + "metrics_" + std::to_string(::getpid()) + ".txt";
  {
    const auto output = MetricsOutput::open({.file = path});
    ASSERT_TRUE(output) << output.error().message();
    EXPECT_EQ(file_text(path), "# EOF\n");
    for (int i = 0; i < 50; ++i) {
      (*output)->publish(std::string(5000, static_cast<char>('a' + i % 26)));
      const std::string seen = file_text(path);
      EXPECT_EQ(seen.find_first_not_of(seen[0]), seen == "# EOF\n" ? 1U : std::string::npos);
    }
    (*output)->publish("last 1\n# EOF\n");
    EXPECT_FALSE((*output)->take_error());
  }
  EXPECT_EQ(file_text(path), "last 1\n# EOF\n");
  std::filesystem::remove(path);
}

TEST(MetricsOutput, AFileThatCannotBeWrittenIsAnErrorAtOnceAndLaterIsKept) {
  const auto never = MetricsOutput::open({.file = "/nonexistent/dir/metrics.txt"});
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message().find("create the directory first"), std::string::npos);
  const std::string dir = testing::TempDir() + "metrics_dir_" + std::to_string(::getpid());
  std::filesystem::create_directory(dir);
  const auto output = MetricsOutput::open({.file = dir + "/m.txt"});
  ASSERT_TRUE(output);
  std::filesystem::remove_all(dir);
  (*output)->publish("x 1\n# EOF\n");
  std::optional<Error> error;
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!(error = (*output)->take_error()) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->file, dir + "/m.txt");
}

// The limit of a file's size stands for a full disk.
TEST(MetricsOutput, OnAFullDiskTheLastWholeTextStaysAndWithRoomTheNextIsWritten) {
  const std::string dir = testing::TempDir() + "metrics_full_" + std::to_string(::getpid());
  std::filesystem::create_directory(dir);
  const std::string path = dir + "/m.prom";
  const auto output = MetricsOutput::open({.file = path});
  ASSERT_TRUE(output);
  const auto becomes_true = [](const auto& condition) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    return condition();
  };
  (*output)->publish("whole 1\n# EOF\n");
  ASSERT_TRUE(becomes_true([&] { return file_text(path) == "whole 1\n# EOF\n"; }));
  const auto was = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  (*output)->publish(std::string(5000, 'x') + "\n# EOF\n");
  std::optional<Error> error;
  EXPECT_TRUE(becomes_true([&] { return error || (error = (*output)->take_error()); }));
  for (int i = 0; i < 20; ++i) {
    (*output)->publish(std::string(5000, 'y') + "\n# EOF\n");
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE((*output)->take_error()) << "it is said once";
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, was);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->file, path);
  EXPECT_NE(error->message().find("File too large"), std::string::npos) << error->message();
  EXPECT_EQ(file_text(path), "whole 1\n# EOF\n");
  const auto files = std::filesystem::directory_iterator(dir);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  (*output)->publish("whole 2\n# EOF\n");
  EXPECT_TRUE(becomes_true([&] { return file_text(path) == "whole 2\n# EOF\n"; }));
  EXPECT_FALSE((*output)->take_error());
  std::filesystem::remove_all(dir);
}

TEST(MetricsTarget, IsAPortAnAddressOrAFile) {
  EXPECT_EQ(metrics_target("9400")->port, 9400);
  EXPECT_EQ(metrics_target("9400")->address, "127.0.0.1");
  EXPECT_EQ(metrics_target("0.0.0.0:80")->address, "0.0.0.0");
  EXPECT_EQ(metrics_target("0.0.0.0:80")->port, 80);
  EXPECT_EQ(metrics_target("./9400")->file, "./9400");
  EXPECT_EQ(metrics_target("metrics.txt")->file, "metrics.txt");
  EXPECT_FALSE(metrics_target("metrics.txt")->port);
  EXPECT_EQ(metrics_target("70000").error().message(),
            "70000 is no port; ports are 0 to 65535; write ./70000 for a file");
  EXPECT_FALSE(metrics_target(""));
  EXPECT_FALSE(metrics_target("99999999999999999999"));
}

}  // namespace
}  // namespace stepscope

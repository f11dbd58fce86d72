// SPDX-License-Identifier: Apache-2.0
// RAS: a status and what changes in it, and a service that speaks its protocol.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "stepscope/live/ras_client.h"

namespace stepscope {
namespace {

std::string status(int calls0, int calls1, bool missing = false) {
  const auto rank = [](int number, int calls) {
    return R"({"rank": )" + std::to_string(number) +
           R"(, "host": "172.16.64.245", "pid": 1524344, "cuda_dev": 0, "nvml_dev": 0,
               "status": {"init_state": 0, "async_error": 0, "finalize_called": false,
                          "destroy_flag": false, "abort_flag": false},
               "collective_counts": {"Broadcast": 0, "Reduce": 0, "AllGather": 3,
                                     "ReduceScatter": 0, "AllReduce": )" +
           std::to_string(calls) + "}}";
  };
  const std::string gone =
      R"({"rank": 1, "host": "172.16.64.246", "pid": 1524345, "cuda_dev": 1, "nvml_dev": 1,
          "status": {"unresponsive": true, "considered_dead": false}})";
  return R"({"nccl_version": "2.29.1", "cuda_runtime_version": 13000,
             "timestamp": "2025-12-19 13:06:53", "communicators_count": 1, "communicators": [
               {"hash": "0xae94423cfbb2ef4a", "secondary_hash": "0xb7:0xb8", "size": 2,
                "ranks": [)" +
         rank(0, calls0) + (missing ? "" : "," + rank(1, calls1)) + R"(], "missing_ranks": [)" +
         (missing ? gone : "") + "]}]}";
}

RasStatus read(const std::string& text) {
  const auto parsed = parse_ras_status(text);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : RasStatus();
}

TEST(Ras, ReadsRanksAndTheirCalls) {
  const RasStatus whole = read(status(7, 8));
  ASSERT_EQ(whole.communicators.size(), 1U);
  const RasCommunicator& c = whole.communicators[0];
  EXPECT_EQ(c.id, "0xae94423cfbb2ef4a 0xb7:0xb8");
  ASSERT_EQ(c.ranks.size(), 2U);
  EXPECT_EQ(c.ranks[1].calls[static_cast<std::size_t>(CollectiveKind::all_reduce)], 8U);
  EXPECT_TRUE(read(status(7, 8, true)).communicators[0].missing[0].unresponsive);
  EXPECT_FALSE(parse_ras_status(status(7, 8).substr(0, 300)));
  EXPECT_FALSE(parse_ras_status("{\"communicators\": []}"));
}

TEST(Ras, ARankThatIsBehindIsStuckOnceNothingChanges) {
  RasWatch watch;
  EXPECT_TRUE(watch.take(read(status(5, 4)), 0, 30).empty());
  EXPECT_TRUE(watch.take(read(status(7, 6)), 20, 30).empty());
  EXPECT_TRUE(watch.take(read(status(7, 6)), 40, 30).empty());  // changed 20 s ago
  const auto events = watch.take(read(status(7, 6)), 60, 30);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::stuck);
  EXPECT_EQ(events[0].ranks, std::vector<int>{1});
  EXPECT_EQ(events[0].collective, CollectiveKind::all_reduce);
  EXPECT_EQ(events[0].number, 7U);
  EXPECT_EQ(events[0].seconds, 40);
  EXPECT_TRUE(watch.take(read(status(7, 6)), 80, 30).empty());
}

// Equal counts that do not change: an idle job, or one that waits for something else.
TEST(Ras, RanksThatHaveCalledTheSameAreNotStuck) {
  RasWatch watch;
  for (int t = 0; t < 200; t += 20) EXPECT_TRUE(watch.take(read(status(7, 7)), t, 30).empty());
}

TEST(Ras, NamesRanksThatDoNotAnswerOnce) {
  RasWatch watch;
  EXPECT_TRUE(watch.take(read(status(7, 7)), 0, 30).empty());
  const auto events = watch.take(read(status(7, 7, true)), 10, 30);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::unresponsive);
  EXPECT_EQ(events[0].ranks, std::vector<int>{1});
  EXPECT_EQ(events[0].host, "172.16.64.246");
  EXPECT_TRUE(watch.take(read(status(7, 7, true)), 20, 30).empty());
}

TEST(Ras, AddressesAreHostsWithPorts) {
  EXPECT_EQ(ras_address("node7:28028")->port, "28028");
  EXPECT_EQ(ras_address("ras://node7")->port, "28028");
  EXPECT_EQ(ras_address("ras://node7:99")->host, "node7");
  for (const char* other : {"node7", "./a:b", "dir/job:7", ":7", "a:", "a:123456", "a:7x"})
    EXPECT_FALSE(ras_address(other)) << other;
}

// A service on a free port of this host that answers one client, as NCCL's does.
class Service {
 public:
  explicit Service(const std::string& hello) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    port = std::to_string(ntohs(at.sin_port));
    thread_ = std::thread([this, hello] { answer(hello); });
  }
  ~Service() {
    thread_.join();
    ::close(listener_);
  }
  std::string port;
  std::string asked;

 private:
  std::string line(int fd) {
    std::string out;
    char c = 0;
    while (::recv(fd, &c, 1, 0) == 1 && c != '\n') out += c;
    return out;
  }
  static void say(int fd, const std::string& text) {
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void answer(const std::string& hello) {
    const int fd = ::accept(listener_, nullptr, nullptr);
    asked += line(fd) + ";";
    say(fd, hello);
    if (hello.starts_with("SERVER")) {
      asked += line(fd) + ";";
      say(fd, "OK\n");
      asked += line(fd);
      say(fd, status(7, 7));
    }
    ::close(fd);
  }
  int listener_;
  std::thread thread_;
};

TEST(Ras, AsksTheService) {
  Service service("SERVER PROTOCOL 2\n");
  const auto answer = ask_ras({.host = "127.0.0.1", .port = service.port});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->nccl_version, "2.29.1");
  EXPECT_EQ(service.asked, "CLIENT PROTOCOL 2;SET FORMAT json;STATUS");
}

TEST(Ras, RefusesOtherServices) {
  Service service("HTTP/1.1 400\n");
  const auto answer = ask_ras({.host = "127.0.0.1", .port = service.port});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message().find("not the RAS service"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

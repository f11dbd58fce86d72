// SPDX-License-Identifier: Apache-2.0
#include "stepscope/telemetry/metrics_output.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <utility>

#include "stepscope/base/output_file.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view no_metrics = "# EOF\n";
constexpr std::size_t most_request = 8192;
constexpr auto patience = 2s;  // time limit for one client

Error socket_error(const std::string& doing, const MetricsTarget& target, int code) {
  const std::string place = target.address + ":" + std::to_string(*target.port);
  Error error{.what = doing + " " + place + ": " + std::generic_category().message(code)};
  if (code == EADDRINUSE) error.hint = "another program uses this port; choose another, or 0";
  if (code == EACCES) error.hint = "ports below 1024 need rights; choose another";
  if (code == EADDRNOTAVAIL) error.hint = "this host has no such address";
  return error;
}

bool send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Reads up to the empty line after the headers. Empty if the client is too slow or sends too much.
std::string read_request(int connection) {
  std::string request;
  std::array<char, 1024> part{};
  const auto until = std::chrono::steady_clock::now() + patience;
  while (request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = ::recv(connection, part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || request.size() > most_request || std::chrono::steady_clock::now() > until)
      return {};
    request.append(part.data(), static_cast<std::size_t>(got));
  }
  return request;
}

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     bool with_body) {
  std::string out = "HTTP/1.1 ";
  out.append(status).append("\r\nContent-Type: ").append(type).append("\r\nContent-Length: ");
  out.append(std::to_string(body.size())).append("\r\nConnection: close\r\n\r\n");
  if (with_body) out.append(body);
  return out;
}

std::string answer_to(std::string_view request, std::string_view metrics) {
  const std::string_view line = request.substr(0, request.find("\r\n"));
  const std::size_t method_end = line.find(' ');
  if (method_end == std::string_view::npos)
    return response("400 Bad Request", "text/plain", "not HTTP\n", true);
  const std::string_view method = line.substr(0, method_end);
  std::string_view path = line.substr(method_end + 1);
  path = path.substr(0, path.find_first_of(" ?"));
  const bool with_body = method == "GET";
  if (method != "GET" && method != "HEAD")
    return response("405 Method Not Allowed", "text/plain", "GET only\n", true);
  if (path == "/metrics" || path == "/")
    return response("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics,
                    with_body);
  return response("404 Not Found", "text/plain", "the metrics are at /metrics\n", with_body);
}

Result<int> listen_at(const MetricsTarget& target) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(*target.port);
  if (::inet_pton(AF_INET, target.address.c_str(), &address.sin_addr) != 1)
    return Error{.what = "'" + target.address + "' is no IPv4 address",
                 .hint = "give PORT, ADDRESS:PORT or a file name"};
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return socket_error("cannot open a socket for", target, errno);
  const int on = 1;  // allows a port with lingering connections
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(listener, generic, sizeof address) != 0 || ::listen(listener, 16) != 0) {
    const int code = errno;
    ::close(listener);
    return socket_error("cannot serve metrics at", target, code);
  }
  return listener;
}

void wake(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t woken = ::write(event, &one, sizeof one);
}

}  // namespace

Result<MetricsTarget> metrics_target(std::string_view text) {
  MetricsTarget target;
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const bool number =
      !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!number || text.find('/') != std::string_view::npos) {
    if (text.empty())
      return Error{.what = "no place for the metrics", .hint = "give a port or a file name"};
    target.file = text;
    return target;
  }
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || port > 65535)
    return Error{.what = std::string(digits) + " is no port",
                 .hint = "ports are 0 to 65535; write ./" + std::string(digits) + " for a file"};
  target.port = static_cast<std::uint16_t>(port);
  if (colon != std::string_view::npos) target.address = text.substr(0, colon);
  return target;
}

Result<std::unique_ptr<MetricsOutput>> MetricsOutput::open(const MetricsTarget& target) {
  std::unique_ptr<MetricsOutput> out(new MetricsOutput);
  out->text_ = no_metrics;
  if (target.port) {
    auto listener = listen_at(target);
    if (!listener) return listener.error();
    out->listener_ = *listener;
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(out->listener_, reinterpret_cast<sockaddr*>(&bound), &size);
    out->port_ = ntohs(bound.sin_port);
  } else {
    auto written = write_file(target.file, no_metrics);
    if (!written) return written.error();
    out->file_ = target.file;
  }
  out->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (out->wake_ < 0)
    return Error{.what = "cannot make an eventfd: " + std::generic_category().message(errno),
                 .hint = "raise the limit of open files (ulimit -n)"};
  out->thread_ = std::thread([server = out.get()] { server->serve(); });
  return out;
}

MetricsOutput::~MetricsOutput() {
  stop_.store(true);
  if (thread_.joinable()) {
    wake(wake_);
    thread_.join();
  }
  if (listener_ >= 0) ::close(listener_);
  if (wake_ >= 0) ::close(wake_);
  const std::unique_ptr<std::string> unread(fresh_.exchange(nullptr));
  const std::unique_ptr<Error> error(error_.exchange(nullptr));
}

void MetricsOutput::publish(std::string text) {
  auto next = std::make_unique<std::string>(std::move(text));
  const std::unique_ptr<std::string> unread(fresh_.exchange(next.release()));
  if (!file_.empty()) wake(wake_);  // an endpoint reads it on request
}

std::optional<Error> MetricsOutput::take_error() {
  const std::unique_ptr<Error> error(error_.exchange(nullptr));
  return error ? std::optional(*error) : std::nullopt;
}

void MetricsOutput::take_fresh() {
  std::unique_ptr<std::string> fresh(fresh_.exchange(nullptr));
  if (!fresh) return;
  text_ = std::move(*fresh);
  if (file_.empty()) return;
  const auto written = write_file(file_, text_);
  if (written) return;
  auto error = std::make_unique<Error>(written.error());
  const std::unique_ptr<Error> before(error_.exchange(error.release()));
}

void MetricsOutput::answer(int connection) {
  timeval limit{};
  limit.tv_sec = std::chrono::seconds(patience).count();
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const std::string request = read_request(connection);
  if (request.empty()) return;
  take_fresh();
  if (send_all(connection, answer_to(request, text_))) ::shutdown(connection, SHUT_WR);
}

void MetricsOutput::serve() {
  std::array<pollfd, 2> ready{pollfd{wake_, POLLIN, 0}, pollfd{listener_, POLLIN, 0}};
  while (!stop_.load()) {
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    if (!file_.empty()) {
      take_fresh();
      continue;
    }
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    answer(connection);
    ::close(connection);
  }
  take_fresh();
}

}  // namespace stepscope

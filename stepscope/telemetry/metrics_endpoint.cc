// SPDX-License-Identifier: Apache-2.0
#include "stepscope/telemetry/metrics_endpoint.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

constexpr unsigned patience = 10;  // seconds that a client may be silent
constexpr unsigned most_clients = 1000;
constexpr int backlog = 128;
constexpr std::size_t most_request = 8192;

Error socket_error(const std::string& doing, const std::string& place, int code) {
  Error error{.what = doing + " " + place + ": " + std::generic_category().message(code)};
  error.hint = "choose another port";
  if (code == EADDRINUSE) error.hint = "another program uses this port; choose another, or 0";
  if (code == EACCES) error.hint = "ports below 1024 need rights; choose another";
  if (code == EADDRNOTAVAIL) error.hint = "this host has no such address";
  if (code == EMFILE) error.hint = "raise the limit of open files (ulimit -n)";
  return error;
}

Result<int> listen_at(const std::string& address, std::uint16_t port) {
  const std::string place = address + ":" + std::to_string(port);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1)
    return Error{.what = "'" + address + "' is no IPv4 address",
                 .hint = "give PORT, ADDRESS:PORT or a file name"};
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return socket_error("cannot open a socket for", place, errno);
  const int on = 1;  // allows a port with lingering connections
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* generic = reinterpret_cast<const sockaddr*>(&at);
  if (::bind(listener, generic, sizeof at) != 0 || ::listen(listener, backlog) != 0) {
    const int code = errno;
    ::close(listener);
    return socket_error("cannot serve metrics at", place, code);
  }
  return listener;
}

MHD_Result send(MHD_Connection* connection, unsigned status, const char* type,
                std::string_view body) {
  // The library copies MHD_RESPMEM_MUST_COPY and only reads what it is given.
  auto* bytes = const_cast<char*>(body.data());
  MHD_Response* response =
      MHD_create_response_from_buffer(body.size(), bytes, MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result answer(void* endpoint, MHD_Connection* connection, const char* path, const char* method,
                  const char* /*version*/, const char* /*upload*/, std::size_t* /*upload_size*/,
                  void** /*state*/) {
  const std::string_view asked = method;
  if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD)
    return send(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", "GET only\n");
  if (std::string_view(path) != "/metrics" && std::string_view(path) != "/")
    return send(connection, MHD_HTTP_NOT_FOUND, "text/plain", "the metrics are at /metrics\n");
  return send(connection, MHD_HTTP_OK, "application/openmetrics-text; version=1.0.0; charset=utf-8",
              static_cast<MetricsEndpoint*>(endpoint)->text());
}

}  // namespace

Result<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::open(const std::string& address,
                                                               std::uint16_t port,
                                                               std::string text) {
  const auto listener = listen_at(address, port);
  if (!listener) return listener.error();
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ::getsockname(*listener, reinterpret_cast<sockaddr*>(&bound), &size);
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint(std::move(text)));
  endpoint->port_ = ntohs(bound.sin_port);
  endpoint->daemon_ =
      MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, answer, endpoint.get(),
                       MHD_OPTION_LISTEN_SOCKET, *listener, MHD_OPTION_CONNECTION_TIMEOUT, patience,
                       MHD_OPTION_CONNECTION_LIMIT, most_clients,
                       MHD_OPTION_CONNECTION_MEMORY_LIMIT, most_request, MHD_OPTION_END);
  // Whether the library has closed the socket then is not documented, so it is not closed twice.
  if (endpoint->daemon_ == nullptr)
    return socket_error("cannot serve metrics at", address + ":" + std::to_string(port), errno);
  return endpoint;
}

MetricsEndpoint::~MetricsEndpoint() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  const std::unique_ptr<std::string> unread(fresh_.exchange(nullptr));
}

void MetricsEndpoint::publish(std::unique_ptr<std::string> text) {
  const std::unique_ptr<std::string> unread(fresh_.exchange(text.release()));
}

const std::string& MetricsEndpoint::text() {
  const std::unique_ptr<std::string> fresh(fresh_.exchange(nullptr));
  if (fresh) text_ = std::move(*fresh);
  return text_;
}

}  // namespace stepscope

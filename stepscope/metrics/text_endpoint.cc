// SPDX-License-Identifier: Apache-2.0
#include "stepscope/metrics/text_endpoint.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "stepscope/base/files/open_source.h"

namespace stepscope {
namespace {

constexpr unsigned patience = 10;  // seconds that a client may be silent
constexpr int backlog = 128;
constexpr std::size_t most_request = 8192;
// Connections that the library may have beyond those that are served, until it has closed the
// silent ones.
constexpr unsigned spare = 64;

Error socket_error(const std::string& doing, const std::string& place, int code) {
  Error error{.what = doing + " " + place + ": " + std::generic_category().message(code)};
  error.hint = "choose another port";
  if (code == EADDRINUSE) error.hint = "another program uses this port; choose another, or 0";
  if (code == EACCES) error.hint = "ports below 1024 need rights; choose another";
  if (code == EADDRNOTAVAIL) error.hint = "this host has no such address";
  if (code == EMFILE) error.hint = "raise the limit of open files (ulimit -n)";
  return error;
}

bool is_loopback(const in_addr& address) { return ntohl(address.s_addr) >> 24 == 127; }

Result<int> listen_at(const EndpointOptions& options) {
  const auto& [address, port, token, most_clients] = options;
  const std::string place = address + ":" + std::to_string(port);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1)
    return Error{.what = "'" + address + "' is no IPv4 address",
                 .hint = "give PORT, ADDRESS:PORT or a file name"};
  if (token.empty() && !is_loopback(at.sin_addr))
    return Error{.what = place + " would show the job to everybody in the network",
                 .hint = "give --token-file, or serve on 127.0.0.1",
                 .code = ErrorCode::refused};
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return socket_error("cannot open a socket for", place, errno);
  const int on = 1;  // allows a port with lingering connections
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* generic = reinterpret_cast<const sockaddr*>(&at);
  if (::bind(listener, generic, sizeof at) != 0 || ::listen(listener, backlog) != 0) {
    const int code = errno;
    ::close(listener);
    return socket_error("cannot serve at", place, code);
  }
  return listener;
}

MHD_Result send(MHD_Connection* connection, unsigned status, std::string_view body) {
  // The library copies MHD_RESPMEM_MUST_COPY and only reads what it is given.
  auto* bytes = const_cast<char*>(body.data());
  MHD_Response* response =
      MHD_create_response_from_buffer(body.size(), bytes, MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
  if (status == MHD_HTTP_UNAUTHORIZED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

// The time does not depend on where the texts differ.
bool equal(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

bool may_read(MHD_Connection* connection, const std::string& token) {
  if (token.empty()) return true;
  const auto value = [&](MHD_ValueKind kind, const char* key) {
    const char* found = MHD_lookup_connection_value(connection, kind, key);
    return std::string_view(found == nullptr ? "" : found);
  };
  constexpr std::string_view bearer = "Bearer ";
  std::string_view given = value(MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
  given = given.starts_with(bearer) ? given.substr(bearer.size())
                                    : value(MHD_GET_ARGUMENT_KIND, "token");
  return equal(given, token);
}

int socket_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

// Whether a browser asks for this host, not for a name that somebody has made resolve to it.
// Programs that send no Host are no browsers.
bool is_own_host(const char* header) {
  if (header == nullptr) return true;
  std::string host = header;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    in6_addr ignored{};
    return end != std::string::npos &&
           ::inet_pton(AF_INET6, host.substr(1, end - 1).c_str(), &ignored) == 1;
  }
  host.resize(std::min(host.size(), host.find(':')));
  std::ranges::transform(host, host.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  in_addr ignored{};
  return host == "localhost" || host.ends_with(".localhost") ||
         ::inet_pton(AF_INET, host.c_str(), &ignored) == 1;
}

MHD_Result answer(void* endpoint, MHD_Connection* connection, const char* path, const char* method,
                  const char* /*version*/, const char* /*upload*/, std::size_t* /*upload_size*/,
                  void** /*state*/) {
  auto& served = *static_cast<TextEndpoint*>(endpoint);
  served.asked(socket_of(connection));
  const std::string_view asked = method;
  if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD)
    return send(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
  if (served.token().empty() &&
      !is_own_host(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
    return send(connection, MHD_HTTP_FORBIDDEN, "this is for localhost: ask it by that name\n");
  if (!may_read(connection, served.token()))
    return send(connection, MHD_HTTP_UNAUTHORIZED, "this needs the token\n");
  MHD_Response* response = served.response(path);
  if (response == nullptr)
    return send(connection, MHD_HTTP_NOT_FOUND, "there is: " + served.paths() + "\n");
  return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

void notice(void* endpoint, MHD_Connection* connection, void** /*state*/,
            MHD_ConnectionNotificationCode code) {
  auto& served = *static_cast<TextEndpoint*>(endpoint);
  if (code == MHD_CONNECTION_NOTIFY_STARTED)
    served.connected(socket_of(connection));
  else
    served.disconnected(socket_of(connection));
}

void completed(void* endpoint, MHD_Connection* connection, void** /*state*/,
               MHD_RequestTerminationCode code) {
  if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
    static_cast<TextEndpoint*>(endpoint)->answered(socket_of(connection));
}

}  // namespace

Result<std::string> read_token(const std::string& path) {
  auto text = read_text(path);
  if (!text) return text;
  std::string token = text->substr(0, text->find('\n'));
  if (token.ends_with('\r')) token.pop_back();
  constexpr std::size_t shortest = 16;
  if (token.size() < shortest)
    return Error{.what = "its first line has fewer than 16 characters",
                 .file = path,
                 .hint = "write a long random word into it: openssl rand -hex 32"};
  return token;
}

void TextEndpoint::connected(int socket) {
  const std::lock_guard lock(guard_);
  clients_[socket] = {.since = std::chrono::steady_clock::now()};
  make_room();
}

void TextEndpoint::asked(int socket) {
  const std::lock_guard lock(guard_);
  clients_[socket].answering = true;
}

void TextEndpoint::answered(int socket) {
  const std::lock_guard lock(guard_);
  clients_[socket] = {.since = std::chrono::steady_clock::now()};
}

// The server closes a socket after it has said so.
void TextEndpoint::disconnected(int socket) {
  const std::lock_guard lock(guard_);
  clients_.erase(socket);
}

// Shuts down the sockets that have had no request for longest, except those that have one answered.
void TextEndpoint::make_room() {
  const auto stays = [](const auto& client) { return !client.second.leaving; };
  auto many = static_cast<std::size_t>(std::ranges::count_if(clients_, stays));
  for (; many > most_clients_; --many) {
    auto longest = clients_.end();
    for (auto at = clients_.begin(); at != clients_.end(); ++at)
      if (stays(*at) && !at->second.answering &&
          (longest == clients_.end() || at->second.since < longest->second.since))
        longest = at;
    if (longest == clients_.end()) return;
    longest->second.leaving = true;
    ::shutdown(longest->first, SHUT_RDWR);
  }
}

void TextEndpoint::disconnect_slow() {
  const std::lock_guard lock(guard_);
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [socket, client] : clients_)
    if (now - client.since > longest_request) ::shutdown(socket, SHUT_RDWR);
}

Result<std::unique_ptr<TextEndpoint>> TextEndpoint::open(const EndpointOptions& options,
                                                         std::vector<ServedText> texts) {
  const auto listener = listen_at(options);
  if (!listener) return listener.error();
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ::getsockname(*listener, reinterpret_cast<sockaddr*>(&bound), &size);
  std::unique_ptr<TextEndpoint> endpoint(new TextEndpoint);
  endpoint->port_ = ntohs(bound.sin_port);
  endpoint->place_ = options.address + ':' + std::to_string(endpoint->port_);
  endpoint->token_ = options.token;
  endpoint->most_clients_ = options.most_clients;
  endpoint->take(std::move(texts));
  endpoint->daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, answer, endpoint.get(),
      MHD_OPTION_LISTEN_SOCKET, *listener, MHD_OPTION_CONNECTION_TIMEOUT, patience,
      MHD_OPTION_CONNECTION_LIMIT, options.most_clients + spare, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      most_request, MHD_OPTION_NOTIFY_CONNECTION, notice, endpoint.get(),
      MHD_OPTION_NOTIFY_COMPLETED, completed, endpoint.get(), MHD_OPTION_END);
  // Whether the library has closed the socket then is not documented, so it is not closed twice.
  if (endpoint->daemon_ == nullptr)
    return socket_error("cannot serve at", options.address + ":" + std::to_string(options.port),
                        errno);
  return endpoint;
}

TextEndpoint::~TextEndpoint() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  const std::unique_ptr<std::vector<ServedText>> unread(fresh_.exchange(nullptr));
  take({});
}

void TextEndpoint::publish(std::vector<ServedText> texts) {
  const std::unique_ptr<std::vector<ServedText>> unread(
      fresh_.exchange(new std::vector<ServedText>(std::move(texts))));
  disconnect_slow();
}

void TextEndpoint::take(std::vector<ServedText> texts) {
  for (const Served& old : served_)
    if (old.response != nullptr) MHD_destroy_response(old.response);
  served_.clear();
  for (ServedText& text : texts) served_.push_back({.text = std::move(text)});
}

void TextEndpoint::take_fresh() {
  const std::unique_ptr<std::vector<ServedText>> fresh(fresh_.exchange(nullptr));
  if (fresh) take(std::move(*fresh));
}

MHD_Response* TextEndpoint::response(std::string_view path) {
  take_fresh();
  for (Served& served : served_) {
    if (served.text.path != path) continue;
    if (served.response != nullptr) return served.response;
    served.response = MHD_create_response_from_buffer(
        served.text.text.size(), served.text.text.data(), MHD_RESPMEM_MUST_COPY);
    if (served.response == nullptr) return nullptr;
    MHD_add_response_header(served.response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            served.text.type.c_str());
    MHD_add_response_header(served.response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return served.response;
  }
  return nullptr;
}

std::string TextEndpoint::paths() {
  std::string out;
  for (const Served& served : served_) out += (out.empty() ? "" : ", ") + served.text.path;
  return out;
}

}  // namespace stepscope

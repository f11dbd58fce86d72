// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/ras_client.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

constexpr int answer_s = 20;
constexpr std::size_t most_answer = std::size_t{256} << 20;

Error ras_error(const RasAddress& address, const std::string& what) {
  return {.what = what,
          .file = address.host + ":" + address.port,
          .hint = "check that the job runs with NCCL_RAS_ENABLE=1, and its NCCL_RAS_ADDR"};
}

std::string reason(int code) { return std::generic_category().message(code); }

Result<int> connected(const RasAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list);
      code != 0)
    return ras_error(address, std::string("cannot find the host: ") + ::gai_strerror(code));
  int failed = ECONNREFUSED;
  int found = -1;
  for (const addrinfo* at = list; at != nullptr && found < 0; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd < 0) continue;
    const timeval patience{.tv_sec = answer_s, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      found = fd;
    } else {
      failed = errno;
      ::close(fd);
    }
  }
  ::freeaddrinfo(list);
  if (found < 0) return ras_error(address, "cannot connect: " + reason(failed));
  return found;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// A line with its end, or everything to the end of the stream.
Result<std::string> receive(int fd, const RasAddress& address, bool line) {
  std::string out;
  std::array<char, 65536> room;
  while (out.size() < most_answer) {
    const ssize_t got = ::recv(fd, room.data(), line ? 1 : room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ras_error(address, "gives no answer: " + reason(errno));
    out.append(room.data(), static_cast<std::size_t>(got));
    if (got == 0 || (line && out.ends_with('\n'))) return out;
    if (line && out.size() > 1024) break;
  }
  return ras_error(address, "gives an answer that is too long");
}

Result<std::string> conversation(int fd, const RasAddress& address) {
  if (!send_all(fd, "CLIENT PROTOCOL 2\n")) return ras_error(address, "closes the connection");
  const auto hello = receive(fd, address, true);
  if (!hello) return hello;
  if (!hello->starts_with("SERVER PROTOCOL "))
    return ras_error(address, "is not the RAS service of NCCL");
  if (!send_all(fd, "SET FORMAT json\n")) return ras_error(address, "closes the connection");
  const auto format = receive(fd, address, true);
  if (!format) return format;
  if (*format != "OK\n") return ras_error(address, "has no JSON, which NCCL 2.28.7 and newer have");
  if (!send_all(fd, "STATUS\n")) return ras_error(address, "closes the connection");
  return receive(fd, address, false);
}

}  // namespace

std::optional<RasAddress> ras_address(std::string_view text) {
  constexpr std::string_view scheme = "ras://";
  const bool named = text.starts_with(scheme);
  if (named) text.remove_prefix(scheme.size());
  const std::size_t colon = text.rfind(':');
  if (!named && colon == std::string_view::npos) return std::nullopt;
  RasAddress out{.host = std::string(text.substr(0, colon))};
  if (colon != std::string_view::npos) {
    out.port = text.substr(colon + 1);
    if (out.port.empty() || out.port.size() > 5 ||
        !std::ranges::all_of(out.port, [](char c) { return c >= '0' && c <= '9'; }))
      return std::nullopt;
  }
  if (out.host.empty() || out.host.find('/') != std::string::npos) return std::nullopt;
  return out;
}

Result<RasStatus> ask_ras(const RasAddress& address) {
  const auto fd = connected(address);
  if (!fd) return fd.error();
  const auto text = conversation(*fd, address);
  ::close(*fd);
  if (!text) return text.error();
  auto status = parse_ras_status(*text);
  if (status) return status;
  Error error = status.error();
  error.file = address.host + ":" + address.port;
  return error;
}

RasClient::RasClient(RasAddress address)
    : address_(std::move(address)), thread_([this] { run(); }) {}

RasClient::~RasClient() {
  {
    const std::lock_guard lock(guard_);
    stop_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

std::optional<Result<RasStatus>> RasClient::take() {
  const std::lock_guard lock(guard_);
  return std::exchange(answer_, std::nullopt);
}

void RasClient::run() {
  std::unique_lock lock(guard_);
  while (!stop_) {
    lock.unlock();
    auto answer = ask_ras(address_);
    lock.lock();
    answer_ = std::move(answer);
    ended_.wait_for(lock, std::chrono::duration<double>(pause_s), [this] { return stop_; });
  }
}

namespace {

// Ranks that have called fewer collectives of a kind than another rank.
std::optional<LiveEvent> behind(const RasCommunicator& c) {
  for (std::size_t kind = 0; kind < collective_kind_count; ++kind) {
    std::uint64_t most = 0;
    for (const RasRank& rank : c.ranks) most = std::max(most, rank.calls[kind]);
    if (std::ranges::all_of(c.ranks, [&](const RasRank& r) { return r.calls[kind] == most; }))
      continue;
    LiveEvent event{.kind = LiveEventKind::stuck};
    for (const RasRank& rank : c.ranks) {
      if (rank.calls[kind] == most) continue;
      if (event.ranks.empty()) event.host = rank.host;
      event.add_rank(rank.rank);
    }
    event.collective = static_cast<CollectiveKind>(kind);
    event.number = most;
    event.by_ras = true;
    return event;
  }
  return std::nullopt;
}

}  // namespace

std::vector<LiveEvent> RasWatch::take(const RasStatus& status, double now, double stuck_s) {
  std::vector<LiveEvent> events;
  for (const RasCommunicator& c : status.communicators) {
    Communicator& known = communicators_[c.id];
    known.seen = now;
    std::vector<std::array<std::uint64_t, collective_kind_count>> calls;
    for (const RasRank& rank : c.ranks) calls.push_back(rank.calls);
    if (calls != known.calls) {
      known.calls = std::move(calls);
      known.changed = now;
      known.told_stuck = false;
    }
    std::vector<std::int32_t> missing;
    LiveEvent lost{.kind = LiveEventKind::unresponsive, .at = now};
    for (const RasRank& rank : c.missing) {
      missing.push_back(rank.rank);
      if (std::ranges::find(known.told_missing, rank.rank) != known.told_missing.end()) continue;
      if (lost.ranks.empty()) lost.host = rank.host;
      lost.add_rank(rank.rank);
    }
    known.told_missing = std::move(missing);
    lost.communicator = c.id;
    lost.by_ras = true;
    if (lost.rank_count > 0) events.push_back(std::move(lost));
    if (known.told_stuck || now - known.changed < stuck_s) continue;
    if (auto stuck = behind(c)) {
      stuck->at = now;
      stuck->communicator = c.id;
      stuck->seconds = now - known.changed;
      known.told_stuck = true;
      events.push_back(std::move(*stuck));
    }
  }
  std::erase_if(communicators_, [&](const auto& entry) { return entry.second.seen != now; });
  return events;
}

}  // namespace stepscope

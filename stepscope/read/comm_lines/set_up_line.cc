// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/comm_lines/set_up_line.h"

#include <algorithm>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

constexpr std::int64_t highest_rank = 10'000'000;

std::int64_t rank_or_none(std::optional<std::int64_t> rank) {
  return rank && *rank >= 0 && *rank < highest_rank ? *rank : -1;
}

std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, std::min(text.find_first_of(ends), text.size()));
}

// "900s", "600000ms".
std::optional<std::int64_t> milliseconds(std::string_view text) {
  const auto number = take_number<std::int64_t>(text);
  if (!number || *number < 0 || *number > 1'000'000'000'000) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.starts_with("ms")) return number;
  return text.starts_with('s') ? std::optional(*number * 1000) : std::nullopt;
}

// "0:30:00" and "1 day, 0:30:00" of Python's timedelta.
std::optional<std::int64_t> of_timedelta(std::string_view text) {
  std::int64_t days = 0;
  if (const std::size_t comma = text.find(", "); comma < text.find(':')) {
    const auto number = leading_number<std::int64_t>(text);
    if (!number || !contains(text.substr(0, comma), " day")) return std::nullopt;
    days = *number;
    text.remove_prefix(comma + 2);
  }
  std::int64_t seconds = 0;
  for (int i = 0; i < 3; ++i) {
    const auto part = take_number<std::int64_t>(text);
    if (!part || *part < 0 || *part > 59) return std::nullopt;
    seconds = seconds * 60 + *part;
    if (i == 2) break;
    if (!text.starts_with(':')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (days < 0 || days > 10'000) return std::nullopt;
  return (days * 86'400 + seconds) * 1000;
}

// "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value
// store by key '0', but store->get('0') got error: wait timeout after 600000ms". The key of a send
// and its receive is "2:5", both ranks, and the lower one gives the id.
std::optional<SetUpLine> unique_id(std::string_view line) {
  const std::size_t at = line.find("] is setting up NCCL communicator and retr");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t open = line.substr(0, at).rfind('[');
  const auto from = behind(line.substr(at), "ncclUniqueId from [");
  const auto error = from ? behind(*from, "got error: ") : std::nullopt;
  // Other errors are those of a store whose process has ended.
  if (open == std::string_view::npos || !error || !contains_any(*error, {"imeout", "imed out"}))
    return std::nullopt;
  SetUpLine out{.kind = SetUpKind::unique_id};
  out.rank = rank_or_none(leading_number<std::int64_t>(line.substr(open + 1)));
  out.awaited = rank_or_none(leading_number<std::int64_t>(*from));
  if (const auto key = behind(*from, "by key '")) {
    const std::string_view pair = until(*key, "'");
    if (contains(pair, ":")) out.awaited = rank_or_none(leading_number<std::int64_t>(pair));
  }
  if (const auto limit = behind(*error, " after ")) out.limit_ms = milliseconds(*limit);
  const bool two = out.rank >= 0 && out.awaited >= 0 && out.rank != out.awaited;
  return two ? std::optional(std::move(out)) : std::nullopt;
}

// "Timed out initializing process group in store based barrier on rank: 7, for key:
// store_based_barrier_key:32 (world_size=8, worker_count=4, timeout=0:00:30)", "Waiting in store
// based barrier to initialize process group for rank: 0, key: …"; num_workers_joined since PyTorch
// 2.1. "Rank 0: Completed store-based barrier for key:… with 8 nodes."
std::optional<SetUpLine> store_barrier(std::string_view line) {
  SetUpLine out{.kind = SetUpKind::store_barrier};
  if (const auto rest = behind(line, "Completed store-based barrier for key:")) {
    out.place = until(trimmed(*rest), " ");
    out.over = true;
    return out.place.empty() ? std::nullopt : std::optional(std::move(out));
  }
  const auto rest = behind(line, " in store based barrier ");
  if (!rest) return std::nullopt;
  out.rank = rank_or_none(number_behind(*rest, "rank: "));
  if (out.rank < 0) out.rank = rank_or_none(number_behind(*rest, "on rank "));
  const auto key = behind(*rest, "key: ");
  const auto list = key ? behind(*key, " (world_size=") : std::nullopt;
  if (!list) return std::nullopt;
  out.place = until(*key, " ");
  out.size = rank_or_none(leading_number<std::int64_t>(*list));
  out.came = rank_or_none(number_behind(*list, "worker_count="));
  if (out.came < 0) out.came = rank_or_none(number_behind(*list, "num_workers_joined="));
  const auto limit = behind(*list, "timeout=");
  // A line about a wait that goes on has the limit, too.
  if (limit && contains(line, "Timed out")) out.limit_ms = of_timedelta(*limit);
  return out.size > 0 && out.came > 0 ? std::optional(std::move(out)) : std::nullopt;
}

// "The client socket has timed out after 900s while trying to connect to (10.0.0.1, 29500)."
std::optional<SetUpLine> address(std::string_view line) {
  const auto rest = behind(line, "The client socket has timed out after ");
  const auto to = rest ? behind(*rest, " while trying to connect to (") : std::nullopt;
  if (!to) return std::nullopt;
  const std::size_t comma = to->find(", ");
  const std::size_t close = to->find(')');
  if (close == std::string_view::npos || comma > close) return std::nullopt;
  const auto port = leading_number<std::int64_t>(to->substr(comma + 2));
  if (comma == 0 || comma > 255 || !port || *port < 0 || *port > 65535) return std::nullopt;
  SetUpLine out{.kind = SetUpKind::address};
  out.place = std::string(to->substr(0, comma)) + ":" + std::to_string(*port);
  out.limit_ms = milliseconds(*rest);
  return out;
}

// "Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv
// from rank 0. Please check rank 0 logs for faulty rank."
std::optional<SetUpLine> monitored_barrier(std::string_view line) {
  const std::size_t at = line.find(" successfully reached monitoredBarrier");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t word = line.substr(0, at).rfind("Rank ");
  if (word == std::string_view::npos) return std::nullopt;
  SetUpLine out{.kind = SetUpKind::monitored_barrier};
  out.rank = rank_or_none(leading_number<std::int64_t>(line.substr(word + 5)));
  out.awaited = rank_or_none(number_behind(line.substr(at), "from rank "));
  return out.rank >= 0 && out.awaited >= 0 ? std::optional(std::move(out)) : std::nullopt;
}

// "Timed out after 1801 seconds waiting for clients. 1/3 clients joined."
std::optional<SetUpLine> store_clients(std::string_view line) {
  const auto rest = behind(line, " waiting for clients. ");
  if (!rest) return std::nullopt;
  SetUpLine out{.kind = SetUpKind::store_clients};
  out.came = rank_or_none(leading_number<std::int64_t>(*rest));
  out.size = rank_or_none(number_behind(*rest, "/"));
  if (const auto seconds = number_behind(line, "Timed out after ");
      seconds && *seconds >= 0 && *seconds < 1'000'000'000)
    out.limit_ms = *seconds * 1000;
  const bool whole = contains(*rest, " clients joined") && out.came >= 0 && out.size > out.came;
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

// "wait timeout after 100ms, keys: /the_key", "Timeout waiting for key: default_pg/0 after 900 ms".
std::optional<SetUpLine> store_key(std::string_view line) {
  const auto wait = behind(line, "wait timeout after ");
  const auto keys = wait ? behind(*wait, ", keys: ") : behind(line, "Timeout waiting for key: ");
  if (!keys) return std::nullopt;
  SetUpLine out{.kind = SetUpKind::store_key, .place = std::string(until(trimmed(*keys), " \n"))};
  const auto limit = wait ? wait : behind(*keys, " after ");
  if (limit) out.limit_ms = milliseconds(*limit);
  while (out.place.ends_with(',') || out.place.ends_with('.')) out.place.pop_back();
  return out.place.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace

std::optional<SetUpLine> parse_set_up(std::string_view line) {
  for (const auto& of :
       {unique_id, store_barrier, address, monitored_barrier, store_clients, store_key})
    if (auto said = of(line)) return said;
  return std::nullopt;
}

}  // namespace stepscope

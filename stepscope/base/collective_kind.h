// SPDX-License-Identifier: Apache-2.0
// The collectives that traces name and that the cost model times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/base/enum_names.h"

namespace stepscope {

// `unknown`: communication whose name does not show its kind. `none`: no communication.
enum class CollectiveKind : std::uint8_t {
  none,
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send,
  recv,
  send_recv,
  gather,
  scatter,
  barrier,
  unknown
};
inline constexpr auto collective_kind_names = enum_names<CollectiveKind::unknown>;
inline constexpr std::size_t collective_kind_count = collective_kind_names.size();

// True for messages between two ranks.
[[nodiscard]] constexpr bool is_message(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::recv ||
         kind == CollectiveKind::send_recv;
}
// The kind under which both ends of a message are one.
[[nodiscard]] constexpr CollectiveKind joined_kind(CollectiveKind kind) {
  return is_message(kind) ? CollectiveKind::send_recv : kind;
}

// busbw = algbw × factor for a group of n ranks: 2(n-1)/n for all-reduce; (n-1)/n for all-gather,
// reduce-scatter, all-to-all, gather and scatter; 1 for broadcast, reduce, send and recv
// (nccl-tests, PERFORMANCE.md). 0 for a group of one; absent for kinds without a message.
[[nodiscard]] constexpr std::optional<double> busbw_factor(CollectiveKind kind, int group_size) {
  if (group_size <= 0) return std::nullopt;
  const double n = group_size;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send:
    case CollectiveKind::recv:
    case CollectiveKind::send_recv:
      return 1.0;
    case CollectiveKind::none:
    case CollectiveKind::barrier:
    case CollectiveKind::unknown:
      break;
  }
  return std::nullopt;
}

}  // namespace stepscope

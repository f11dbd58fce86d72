// SPDX-License-Identifier: Apache-2.0
// The collectives that traces name, and that the cost model times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope {

// `unknown`: communication whose kind its name hides; `none`: no communication.
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
inline constexpr std::size_t collective_kind_count = 14;
inline constexpr std::array<std::string_view, collective_kind_count> collective_kind_names = {
    "none", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",  "all_to_all",
    "send", "recv",       "send_recv",  "gather",         "scatter",   "barrier", "unknown"};
static_assert(collective_kind_names[static_cast<std::size_t>(CollectiveKind::unknown)] ==
              "unknown");

}  // namespace stepscope

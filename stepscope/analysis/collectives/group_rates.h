// SPDX-License-Identifier: Apache-2.0
// How fast each process group transfers, beside its siblings: the groups of the same dimension and
// size. Compared are messages of one kind and size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"

namespace stepscope {

struct GroupRate {
  std::uint32_t group = 0;                        // row of CollectiveMatches::groups
  CollectiveKind kind = CollectiveKind::unknown;  // send and recv are one kind: send_recv
  Bytes bytes{};                                  // S, the total buffer of one call
  std::uint64_t count = 0;                        // instances with separate wait and transfer
  Ns transfer{};                                  // median over them of the median over ranks
  std::optional<ByteRate> busbw{};                // S / transfer × busbw_factor of the group's size
  std::optional<double> of_siblings{};  // the siblings' median transfer / its own: below 1 is slow.
                                        // Absent without a sibling that sends this message
};

// Sizes of a kind that are listed for the groups of one dimension and size: those that take most
// time, over all these groups.
inline constexpr std::size_t most_group_sizes = 8;

// By group, most transfer time first. Leaves out unknown groups and sizes and messages that share a
// fused call. O(instances × members).
[[nodiscard]] std::vector<GroupRate> group_rates(const Collectives& job);

}  // namespace stepscope

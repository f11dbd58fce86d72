// SPDX-License-Identifier: Apache-2.0
// The single transfers of a job: the data for a fit of time against size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"

namespace stepscope {

enum class HostPlacement : std::uint8_t { unknown, one_host, several_hosts };
inline constexpr std::array<std::string_view, 3> host_placement_names = {"unknown", "one_host",
                                                                         "several_hosts"};

// One matched collective with separate wait and transfer on every member.
struct Transfer {
  CollectiveKind kind = CollectiveKind::unknown;
  int group_size = 0;
  HostPlacement placement = HostPlacement::unknown;
  Bytes bytes{};  // S, the total buffer
  Ns time{};      // median over its ranks
};

// The size of an instance and the median transfer of its members, if both are known and not 0.
[[nodiscard]] std::optional<std::pair<Bytes, Ns>> timed_size(const Collectives& job,
                                                             const MatchedCollective& matched);

// Instances of known size that took more than 0 ns. Messages that share a fused call are left out.
// Hosts come from host_clock.h. Several ranks of unknown host have an unknown placement.
[[nodiscard]] std::vector<Transfer> find_transfers(std::span<const RankView> views,
                                                   const Collectives& job);

}  // namespace stepscope

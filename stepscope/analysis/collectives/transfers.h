// SPDX-License-Identifier: Apache-2.0
// The transfers of a job, one by one: what a fit of time against size is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"

namespace stepscope {

enum class HostPlacement : std::uint8_t { unknown, one_host, several_hosts };
inline constexpr std::array<std::string_view, 3> host_placement_names = {"unknown", "one_host",
                                                                         "several_hosts"};

// Of one matched collective whose wait and transfer could be told apart on every member.
struct Transfer {
  CollectiveKind kind = CollectiveKind::unknown;
  int group_size = 0;
  HostPlacement placement = HostPlacement::unknown;
  Bytes bytes{};  // S, the total buffer
  Ns time{};      // median over its ranks
};

// Instances of known size and above 0 ns; messages that a fused call shares with others are left
// out. Hosts as host_clock.h tells them; several ranks of unknown host have an unknown placement.
[[nodiscard]] std::vector<Transfer> find_transfers(std::span<const RankView> views,
                                                   const Collectives& job);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The groups of messages whose peer is recorded as a number within a group that is not recorded:
// PyTorch's c10d::send and c10d::recv_ on a CPU backend. A group fits if the ranks that it makes of
// the numbers record as many messages of the same size the other way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/loose_groups.h"

namespace stepscope {

// Sets the groups and peers of such messages of the views `of_capture`. `groups` are the job's,
// RankCalls::listed are rows of it; `ranks` are by view. Where no group fits, or the file lists
// none and the job has a group beside that of all ranks, peers become unknown (-1). O(calls), and
// the members of each listed group.
[[nodiscard]] std::vector<UnsureGroup> find_message_groups(
    std::span<const RankView> views, std::span<const std::uint32_t> of_capture,
    std::span<const CommGroup> groups, std::span<RankCalls> ranks);

}  // namespace stepscope

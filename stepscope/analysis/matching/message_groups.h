// SPDX-License-Identifier: Apache-2.0
// The groups of messages whose peer is recorded as a number within a group that is not recorded:
// PyTorch's c10d::send and c10d::recv_ on a CPU backend. A group fits if the ranks that it makes of
// the numbers record as many messages of the same size the other way.
#pragma once

#include <cstdint>
#include <span>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// Sets the groups and peers of such messages of the views `of_capture`. `groups` are the job's,
// RankCalls::listed are rows of it; `ranks` are by view. Where no group fits, the peers become
// unknown
// (-1). In a file that lists no groups, the numbers are those of all ranks.
// O(calls), and the members of each listed group.
void find_message_groups(std::span<const RankView> views, std::span<const std::uint32_t> of_capture,
                         std::span<const CommGroup> groups, std::span<RankCalls> ranks);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Process groups in which each rank knows only its own index (NCCL communicators).
#pragma once

#include <span>

#include "stepscope/event/metadata.h"

namespace stepscope {

// Fills in the ranks of groups recorded without them, if all members of the group are here and know
// their index. The index is in texts["group_places"], a JSON object {name: place}, which is
// removed. Groups are identified by name and size. `of[i]` belongs to rank `ranks[i]`.
void complete_groups(std::span<const int> ranks, std::span<Metadata* const> of);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Process groups of which each rank knows only its own place (communicators of NCCL).
#pragma once

#include <span>

#include "stepscope/event/metadata.h"

namespace stepscope {

// Lists the ranks of groups that are recorded without them, where each of a group's members is here
// and says which it is: texts["group_places"], a JSON object {name: place}, which is used up.
// Groups are known by name and size. `of[i]` is of rank `ranks[i]`.
void complete_groups(std::span<const int> ranks, std::span<Metadata* const> of);

}  // namespace stepscope

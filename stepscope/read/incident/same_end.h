// SPDX-License-Identifier: Apache-2.0
// Lines of one file about the same end of a process: a shell and a handler of signals name its
// number, a launcher its rank, and a table has both.
#pragma once

#include <cstddef>
#include <vector>

#include "stepscope/event/incident.h"

namespace stepscope {

// Gives events the rank that other lines of the file give their process, and keeps one event of
// each end. `events` from `first` on are those of the file, in the order of its lines. Time O(n log
// n).
void join_same_ends(std::vector<IncidentEvent>& events, std::size_t first);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The peers of messages on a CPU backend that record none (a profile without shapes). The times at
// which both sides called and had a message show the peers: neither side has it before the other
// has called (message_end.h), and a thread that waits has it soon after. A program does the same in
// each step, so the k-th send of a step on one rank is always for the same receive of the same
// other rank, and what contradicts that in one step is not it.
//   pair  a group of two: the k-th send is the other's k-th receive
//   ring  the k-th send of each member is the k-th receive of the next, or of the one before it
//   line  each member's messages are with the members next to it in the group (the last is next to
//         the first: interleaved stages); those of all steps together take the least time
// A group that fits none of these patterns is not a group of these messages. Pairs count before
// larger groups. Where several still fit, the one whose messages take least time is taken, if that
// is half of the others' at most.
#pragma once

#include <vector>

#include "stepscope/analysis/matching/loose_groups.h"

namespace stepscope {

// Sets the groups and peers of calls of host threads with an unknown peer: of the group of the
// call, or of the listed group that fits. Returns the groups that stay unknown. O(calls), and for a
// line the cube of a group's messages in one step (at most 512).
[[nodiscard]] std::vector<UnsureGroup> find_peers_by_times(const CapturedViews& in);

}  // namespace stepscope

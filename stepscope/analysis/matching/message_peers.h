// SPDX-License-Identifier: Apache-2.0
// The peers of messages that name no peer. PyTorch before 2.2 and many batches of messages record a
// group and a direction but no peer. The number of messages in each step and the instants of their
// ends show the peers:
//   ring   all members of the group have equal numbers of calls, each one send and one receive: to
//          the next member and from the one before it, in the order of the group
//   line   stages of a pipeline: the first member's calls are all with the second, whose other
//          calls are with the third, and so on to the last. The peer of each call of a member
//          follows from the order and from the ends, which are nearly equal on both sides.
// Nothing is guessed: if the counts of a step fit neither, or paired calls do not overlap in time,
// the peers of the step stay unknown.
#pragma once

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// Sets unknown peers (-1) of the calls of the views, of groups whose members are all among them.
// Then drop_unnamed(). O(calls), and for a line the product of the calls of two neighbours within a
// step.
void infer_peers(const CapturedViews& in);

// Calls with an edge to an unknown peer lose their edges.
void drop_unnamed(RankCalls& rank);

// The groups of messages whose peer is recorded as a number within a group that is not recorded:
// PyTorch's c10d::send and c10d::recv_ on a CPU backend. A group fits if the ranks that it makes of
// the numbers record the same number of messages of the same size the other way.

// Sets the groups and peers of such messages. Where no listed group fits, the peers become unknown
// (-1). In a file that lists no groups, the numbers are those of all ranks.
// O(calls), and the members of each listed group.
void find_message_groups(const CapturedViews& in);

}  // namespace stepscope

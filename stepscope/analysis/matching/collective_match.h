// SPDX-License-Identifier: Apache-2.0
// Finds the calls of different ranks that are one collective. Calls are joined by the recorded
// number within the group (Seq), else by order within the group after the captures are aligned.
// Kind, type and count must agree. Groups that no metadata names are the streams whose calls run
// together. Calls that do not fit are reported, never guessed. Nothing is matched unless clocks are
// comparable and windows overlap. A clock with a larger offset is recognised by the pattern of its
// collectives (coarse_offset.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_matches.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/crew.h"

namespace stepscope {

struct MatchOptions {
  std::optional<int> world_size;   // from the user; else the largest in any trace
  std::vector<CommGroup> given{};  // from the user: candidates where a file lists no groups
  bool across_clocks = true;       // recognise clocks that are far apart
  Workers threads{};
};

[[nodiscard]] CollectiveMatches match_collectives(std::span<const RankView> views,
                                                  const MatchOptions& options = {});

// Whom each member of a matched collective waits for: the one rule for the split of a call's time
// (collective_times.h) and for the edges of the graph (step_graph.h).
//
//   all-reduce, all-gather, reduce-scatter, all-to-all, barrier, message
//              all members wait for all
//   broadcast, scatter
//              the others wait for the root
//   reduce, gather
//              the others wait for the root, and the root for all
//   gloo's broadcast
//              sends along a binomial tree (gloo/broadcast.cc), each message when both sides have
//              called: a member waits for those between it and the root, and for its own receivers.
//              Experiment: of 352 recorded broadcasts on four ranks none ended before these had
//              called, and 1 in 4 before others had
//   gloo's scatter and gather
//              the same with a tree of one level: the root waits for all

// All of `waiting` wait for all of `awaited`; both are indices into members_of(matched).
struct CollectiveGate {
  std::vector<std::uint32_t> awaited;
  std::vector<std::uint32_t> waiting;
  bool buffered = false;  // a member may leave before: its message waits for the root in a buffer
};

// Empty if that is not known: the kind, or the root. PyTorch's NCCL events name no root; then that
// of a broadcast or scatter is taken to be the member that starts last, if nobody ends before it
// starts: in a ring, every member waits for the one before it. O(members log members).
[[nodiscard]] std::vector<CollectiveGate> gates_of(std::span<const RankView> views,
                                                   const CollectiveMatches& matches,
                                                   const MatchedCollective& matched);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The critical path of the steps that count (CountedSteps) over all ranks: the chain of work, in
// which each piece waits for the previous one, that ends with the last step. A speed-up outside it
// gains nothing. Its pieces tile these steps: what happened before them, while the recording began,
// is no part of it. If no steps count, it covers all of the recorded ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/steps/phases.h"

namespace stepscope {

// A label for a node's time, for people: "matmul", "all_reduce", "host", "launch", "copy", "sync".
[[nodiscard]] std::string_view label_of(const StepGraph& graph, std::span<const RankView> views,
                                        const CollectiveMatches& matches, std::uint32_t node);
// The name of the operation or call; empty if it has no name.
[[nodiscard]] std::string_view row_name(const StepGraph& graph, std::span<const RankView> views,
                                        std::uint32_t node);

struct PathShare {
  int rank = 0;
  // As label_of; "unexplained" for delays, "not recorded" for time before the rank's first row.
  std::string label;
  Phase phase = Phase::other;
  Ns time{};
};

// A long piece of the path, to look up on the timeline. The earlier of two equal pieces comes
// first.
struct PathPiece {
  int rank = 0;
  std::string label;
  std::string name;  // of the operation or the call
  Ns start{};        // on the trace's clock
  Ns time{};
};

struct PathHop {
  int from = 0;
  int to = 0;
  std::uint64_t count = 0;  // times the path goes from one rank to the other through a collective
};

// The time by which a rank's own work could grow without moving the end: the least slack of its
// compute and host pieces within the steps.
struct RankSlack {
  int rank = 0;
  Ns slack{};
  Ns on_path{};  // time of the path on this rank
};

struct CriticalPath {
  Ns length{};
  std::size_t steps = 0;  // that it covers
  // Parts of the length that the graph does not explain.
  Ns residual{};      // delays
  Ns unlaunched{};    // part of residual: of device work whose launch has no row
  Ns not_recorded{};  // before a rank's first row
  Ns unjoined{};      // calls whose peers are not known: waiting and transfer in one
  std::uint64_t nodes = 0;
  std::vector<PathShare> shares;   // largest first; their sum is `length`
  std::vector<PathPiece> longest;  // longest first
  std::vector<PathHop> hops;       // most first
  std::vector<RankSlack> ranks;    // by rank
};

// If clocks are not comparable, the path is that of the slowest view. `steps`:
// CountedSteps::of_view. `phases`: by view. Empty without steps.
[[nodiscard]] CriticalPath find_critical_path(const Replay& replay, std::span<const RankView> views,
                                              std::span<const std::vector<Step>> steps,
                                              const CollectiveMatches& matches,
                                              std::span<const HostPhases> phases,
                                              std::size_t longest = 10);

}  // namespace stepscope

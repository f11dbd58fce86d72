// SPDX-License-Identifier: Apache-2.0
// The critical path of the recorded steps over all ranks: the chain of work, each piece waiting for
// the one before it, that ends where the last step does. Nothing outside of it can be sped up to
// any gain. Its pieces tile the time from the first step's begin to the last step's end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/steps/host_phases.h"

namespace stepscope {

// What a node's time is, for a person: "matmul", "all_reduce", "host", "launch", "copy", "sync".
[[nodiscard]] std::string_view label_of(const StepGraph& graph, std::span<const RankView> views,
                                        const CollectiveMatches& matches, std::uint32_t node);
// The operation's or the call's name; empty where it has none.
[[nodiscard]] std::string_view row_name(const StepGraph& graph, std::span<const RankView> views,
                                        std::uint32_t node);

struct PathShare {
  int rank = 0;
  // As label_of; "unexplained" for delays, "not recorded" for what lies before the rank's first
  // row.
  std::string_view label;
  Phase phase = Phase::other;
  Ns time{};
};

// A long piece of the path, to be found on the timeline; of equal ones the earlier comes first.
struct PathPiece {
  int rank = 0;
  std::string_view label;
  std::string name;  // of the operation or the call
  Ns start{};        // on the trace's clock
  Ns time{};
};

struct PathHop {
  int from = 0;
  int to = 0;
  std::uint64_t count = 0;  // the path goes from one rank to another through a collective
};

// How much longer a rank's own work could take without moving the end: the least slack of its
// compute and host pieces within the steps.
struct RankSlack {
  int rank = 0;
  Ns slack{};
  Ns on_path{};  // time of the path on this rank
};

struct CriticalPath {
  Ns length{};
  Ns residual{};  // of it: delays that the graph does not explain
  std::uint64_t nodes = 0;
  std::vector<PathShare> shares;   // largest first; their sum is `length`
  std::vector<PathPiece> longest;  // longest first
  std::vector<PathHop> hops;       // most first
  std::vector<RankSlack> ranks;    // by rank
};

// Where clocks are not comparable: of the slowest view alone. `phases`: by view. Empty without
// steps.
[[nodiscard]] CriticalPath find_critical_path(const Replay& replay, std::span<const RankView> views,
                                              const CollectiveMatches& matches,
                                              std::span<const HostPhases> phases,
                                              std::size_t longest = 10);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Many replays of one graph at once. A node's end is needed until the last node that waits for it
// has begun. Its place in memory (a slot) is then used again, so the ends in use fit the caches
// whatever the size of the graph, and one look at a predecessor serves all replays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/graph/replay_graph.h"

namespace stepscope {

struct ReplayProgram {
  std::vector<std::uint32_t> steps;  // of each node in turn: its slot, then its predecessors' slots
  std::uint32_t slots = 0;           // as many as there are ends in use at once
};

// O(nodes + edges).
[[nodiscard]] ReplayProgram make_program(const ReplayGraph& graph);

// Asks for the end of a node. Of several nodes of one place, the last end counts.
struct KeptEnd {
  std::uint32_t node = 0;
  std::uint32_t place = 0;
};

inline constexpr std::size_t most_replays = 8;  // at once

// Replays each of up to `most_replays` changes of `work` (by node). `program` is of this graph.
// `kept`: ascending by node. Writes end[place * changes.size() + change]; Ns::min() at a place
// without a node.
void replay_changes(const ReplayGraph& graph, const ReplayProgram& program,
                    std::span<const Ns> work, std::span<const WorkChange> changes,
                    std::span<const KeptEnd> kept, std::span<Ns> end);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// What a fault of one place changes in a graph: pauses, one long step, one slow process group,
// calls that wait for the device too often.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

// A movable node of a rank's own work, or a transfer. Pieces with one key are the same piece of
// work in different steps and ranks: kind, name and occurrence within the step are equal.
struct StepPiece {
  std::uint64_t key = 0;
  std::uint32_t node = 0;
  std::uint32_t view = 0;
  std::int32_t step = -1;  // ordinal of the step that launched it; -1 before the first
  Ns time{};               // duration, and delay of own work
};

// Host, launch, compute, copy, transfer and unjoined communication nodes, in the order of nodes.
[[nodiscard]] std::vector<StepPiece> step_pieces(const WhatIfInputs& inputs);

// Host work that took much longer than the same piece usually takes: by at least 0.3 ms and three
// times its median over the steps and ranks of the role. A row that at most half of these have
// usually takes no time.
struct Pause {
  std::uint32_t node = 0;
  std::uint32_t view = 0;
  std::int32_t step = 0;
  Ns usual{};
  Ns excess{};
};
// Only what is rare: not in more than half of the steps of a rank, and not on most ranks in one
// step. Ascending by node.
[[nodiscard]] std::vector<Pause> find_pauses(const WhatIfInputs& inputs,
                                             std::span<const StepPiece> pieces);
[[nodiscard]] std::vector<NodeChange> without_pauses(const WhatIfInputs& inputs,
                                                     std::span<const Pause> pauses);

// Each piece of the step takes the median of the same piece in the rank's other steps; pieces that
// no other step has take no time. `index`: Step::index.
[[nodiscard]] std::vector<NodeChange> step_like_others(const WhatIfInputs& inputs,
                                                       std::span<const StepPiece> pieces,
                                                       std::int64_t index);

// Calls of one name, in one operator, that wait for the device more than once a step do not wait.
// The last call of a step that waits still does if nearly nothing is launched after it.
[[nodiscard]] std::vector<NodeChange> without_repeated_syncs(const WhatIfInputs& inputs);

// A process group beside its siblings: groups of the same dimension and size. Ratios compare the
// medians of transfers of one kind and message size; the median sibling is the reference.
struct GroupRatio {
  std::uint32_t group = 0;  // row of CollectiveMatches::groups
  double ratio = 1;         // transfer time over its siblings', weighted by time
  std::size_t siblings = 0;
  Ns time{};  // of its transfers, over all members and steps
};
// Groups with siblings and traced transfers, by row.
[[nodiscard]] std::vector<GroupRatio> group_ratios(const WhatIfInputs& inputs);
// Transfers of the group take as long as its siblings' where those are shorter.
[[nodiscard]] std::vector<NodeChange> group_like_siblings(const WhatIfInputs& inputs,
                                                          std::uint32_t group);
// Row of the group of this name, or of the one that has the rank where several share the name.
[[nodiscard]] std::optional<std::uint32_t> group_named(const WhatIfInputs& inputs,
                                                       std::string_view name,
                                                       std::optional<int> rank);

}  // namespace stepscope

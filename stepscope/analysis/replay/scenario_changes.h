// SPDX-License-Identifier: Apache-2.0
// Which nodes of the graph a change makes longer or shorter, and by how much.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

// The nodes that the change makes longer or shorter, ascending. Empty for prefetch, which changes
// edges. With balanced stages only durations change. REQUIRES: not Change::bucket, which has other
// nodes.
[[nodiscard]] std::vector<NodeChange> changes_of(const WhatIfInputs& inputs,
                                                 const Scenario& scenario);

// Compute nodes that may change, ascending, by class.
using ComputeOfClass = std::array<std::vector<std::uint32_t>, name_class_count>;
[[nodiscard]] ComputeOfClass compute_of_class(const WhatIfInputs& inputs);

// The same with the compute nodes of each class, if they are known. `compute` may be null: then it
// is found when needed. `unsplit`: calls whose waiting and transfer are one are all transfer, else
// all waiting.
[[nodiscard]] std::vector<NodeChange> changes_of(const WhatIfInputs& inputs,
                                                 const Scenario& scenario,
                                                 const ComputeOfClass* compute,
                                                 bool unsplit = true);

// Whether the node is of the kind of collective that the scenario changes.
[[nodiscard]] bool concerns(const WhatIfInputs& inputs, const Scenario& scenario,
                            std::uint32_t node);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The tables of an analysis.
#pragma once

#include <vector>

#include "stepscope/face/tree/csv_tables.h"

namespace stepscope {

// steps, gaps, collectives, stragglers, ranks, budget, kernels, operators; expected_* and mfu where
// there is one.
[[nodiscard]] std::vector<TreeTable> analyze_tables(const Json& tree);

}  // namespace stepscope

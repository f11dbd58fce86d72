// SPDX-License-Identifier: Apache-2.0
// What is worth doing about the recorded steps, largest gain first.
#pragma once

#include <vector>

#include "stepscope/diagnose/findings/finding_list.h"

namespace stepscope {

// Findings that cost at least a hundredth of a step, and those that cost no time; largest gain
// first, of which one that is only bounded counts half. Empty = nothing was found.
[[nodiscard]] std::vector<Finding> find_findings(const FindingContext& context);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope compare` and `sweep` (docs/reference/json.md).
#pragma once

#include <string>

#include "stepscope/pipeline/compare.h"
#include "stepscope/pipeline/sweep.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json compare_tree(const Comparison& report);
[[nodiscard]] Json sweep_tree(const SweepResult& report);
// The steps of one arm, which other verbs show too.
[[nodiscard]] Json arm_tree(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope

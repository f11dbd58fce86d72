// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope compare` (docs/reference/json.md).
#pragma once

#include <string>

#include "stepscope/pipeline/compare.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json compare_tree(const Comparison& report);
// The steps of one arm, which other verbs show too.
[[nodiscard]] Json arm_tree(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope

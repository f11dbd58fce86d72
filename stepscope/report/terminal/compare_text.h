// SPDX-License-Identifier: Apache-2.0
// `stepscope compare` for the terminal: whether B's steps differ from A's, how sure that is, and
// what changed within the step.
#pragma once

#include <string>

#include "stepscope/pipeline/compare.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string compare_text(const Comparison& report, const TextOptions& options = {});
// "Outliers in A, kept: 3 …"; empty without any.
[[nodiscard]] std::string outlier_text(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope

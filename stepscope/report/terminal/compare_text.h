// SPDX-License-Identifier: Apache-2.0
// `stepscope compare` for the terminal: whether B's steps differ from A's, how sure that is, and
// what changed within the step. `stepscope sweep`: the fastest value, and those that tie with it.
#pragma once

#include <string>

#include "stepscope/pipeline/compare.h"
#include "stepscope/pipeline/sweep.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string compare_text(const Comparison& report, const TextOptions& options = {});
[[nodiscard]] std::string sweep_text(const SweepResult& report, const TextOptions& options = {});
// "Outliers in A, kept: 3 …"; empty without any.
[[nodiscard]] std::string outlier_text(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope

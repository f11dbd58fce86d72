// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope compare`: whether B's steps differ from A's, how sure that is, and what
// changed within the step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/pipeline/compare.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

// The verdict in one sentence, with its size and interval or with what is missing.
[[nodiscard]] std::string compare_sentence(const Comparison& report);
[[nodiscard]] std::string compare_text(const Comparison& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json compare_tree(const Comparison& report);
// launches, parts.
[[nodiscard]] std::vector<CsvFile> compare_csv(const Json& tree);

// Shared with the other faces of step times.
[[nodiscard]] Json arm_tree(const std::string& label, const ComparedArm& arm);
[[nodiscard]] std::string outlier_text(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope compare`: whether B's steps differ from A's, how sure that is, and what
// changed within the step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct CompareReport {
  std::string version;
  std::string label_a;  // as typed
  std::string label_b;
  const RunComparison* runs = nullptr;
  CompareOptions options{};
  std::optional<double> max_regression{};  // share of one
  std::string order{};                     // of the launches, "ABBA"; empty = not known
  std::vector<std::string> warnings{};
};

// The verdict in one sentence, with its size and interval or with what is missing.
[[nodiscard]] std::string compare_sentence(const CompareReport& report);
// Whether B is slower, and by more than max_regression; absent where that is not asked or there is
// not enough data.
[[nodiscard]] std::optional<bool> is_regression(const CompareReport& report);
// What a reader of the comparison should know besides: warm-up without an end, one launch an arm,
// drift.
[[nodiscard]] std::vector<std::string> compare_warnings(const RunComparison& runs);
[[nodiscard]] std::string compare_text(const CompareReport& report,
                                       const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json compare_tree(const CompareReport& report);
// launches, parts.
[[nodiscard]] std::vector<CsvFile> compare_csv(const Json& tree);

// Shared with the other faces of step times.
[[nodiscard]] Json arm_tree(const std::string& label, const ComparedArm& arm);
[[nodiscard]] std::string outlier_text(const std::string& label, const ComparedArm& arm);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope sweep`: the fastest value, and those that tie with it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/runs/sweep_ranking.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct SweepReport {
  std::string version;
  std::string name;  // of the setting
  const Sweep* sweep = nullptr;
  CompareOptions options{};
  std::vector<std::string> order{};  // of the launches, by value
  std::vector<std::string> warnings{};
};

[[nodiscard]] std::string sweep_sentence(const SweepReport& report);
[[nodiscard]] std::string sweep_text(const SweepReport& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json sweep_tree(const SweepReport& report);
// values.
[[nodiscard]] std::vector<CsvFile> sweep_csv(const Json& tree);

}  // namespace stepscope

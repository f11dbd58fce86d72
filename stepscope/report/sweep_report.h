// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope sweep`: the fastest value, and those that tie with it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/sweep.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

[[nodiscard]] std::string sweep_sentence(const SweepResult& report);
[[nodiscard]] std::string sweep_text(const SweepResult& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json sweep_tree(const SweepResult& report);
// values.
[[nodiscard]] std::vector<CsvFile> sweep_csv(const Json& tree);

}  // namespace stepscope

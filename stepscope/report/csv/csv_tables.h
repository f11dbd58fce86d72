// SPDX-License-Identifier: Apache-2.0
// Tables as CSV files (RFC 4180), for spreadsheets and data frames: the columns and units of
// docs/reference/json.md. Those of a verb are flattened from its tree, so that the two cannot
// differ; a table without rows is no file.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/predict_collective.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

struct CsvFile {
  std::string name;  // "steps.csv"
  std::string text;
};

// One row an object; objects in them become columns "key.inner", arrays are left out. No rows: no
// text.
[[nodiscard]] CsvFile csv_table(std::string name, const Json& rows);

// steps, gaps, collectives, stragglers, kernels, operators; expected_* and mfu where there is one.
[[nodiscard]] std::vector<CsvFile> analyze_csv(const Json& tree);
// launches, parts.
[[nodiscard]] std::vector<CsvFile> compare_csv(const Json& tree);
// values.
[[nodiscard]] std::vector<CsvFile> sweep_csv(const Json& tree);
// terms, memory, layers, layer_sums, the tables of a layer by other conventions (attention,
// feed_forward; the last row is the sum), and comparison where there is one.
[[nodiscard]] std::vector<CsvFile> predict_csv(const Json& tree);
// plans, pareto, rejected, sensitivity; by_devices and against where there are some.
[[nodiscard]] std::vector<CsvFile> plan_csv(const Json& tree);
// threads, phases, functions.
[[nodiscard]] std::vector<CsvFile> stacks_csv(const Json& tree);
// steps, rank_steps, memory, collectives.
[[nodiscard]] std::vector<CsvFile> train_csv(const Json& tree);

// One row for each size and algorithm.
[[nodiscard]] CsvFile collective_csv(const PredictCollectiveResult& result);

}  // namespace stepscope

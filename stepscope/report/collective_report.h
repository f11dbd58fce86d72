// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope predict --collective`: every algorithm's time over a range of sizes, and
// where the best one changes.
#pragma once

#include <string>

#include "stepscope/pipeline/predict_collective.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

[[nodiscard]] std::string collective_text(const PredictCollectiveResult& result,
                                          const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json collective_tree(const PredictCollectiveResult& result);
// One row for each size and algorithm.
[[nodiscard]] CsvFile collective_csv(const PredictCollectiveResult& result);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a predicted collective: the public JSON with its table, the
// terminal's text.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/verbs/predict/predict_collective.h"

namespace stepscope {

[[nodiscard]] Json collective_tree(const PredictCollectiveResult& result);

// collective: one row for each size and algorithm.
[[nodiscard]] std::vector<TreeTable> collective_tables(const Json& tree);

[[nodiscard]] std::string collective_text(const PredictCollectiveResult& result,
                                          const TextOptions& options = {});

}  // namespace stepscope

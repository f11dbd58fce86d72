// SPDX-License-Identifier: Apache-2.0
// A run of training as tables.
#pragma once

#include <vector>

#include "stepscope/pipeline/train/train_result.h"
#include "stepscope/report/csv_report.h"

namespace stepscope {

// steps, rank_steps, memory, collectives: the columns of docs/reference/json.md.
[[nodiscard]] std::vector<CsvFile> train_csv(const TrainResult& result);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// A job's straggler analysis (analysis/job_table/straggler_job.h) as an answer, as text and as
// JSON.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/report/analyze_report.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_report.h"

namespace stepscope {

// "This job runs at 1.97 times its ideal step …", and who or what explains it.
[[nodiscard]] Answer straggler_answer(const StragglerJob& job);
// What the answer rests on or lacks.
[[nodiscard]] std::vector<std::string> straggler_warnings(const StragglerJob& job);

// `report` has the input, the answer and the warnings.
[[nodiscard]] std::string straggler_text(const AnalyzeReport& report, const StragglerJob& job,
                                         const TextOptions& options);
// The value of `straggler_job`.
[[nodiscard]] Json straggler_job_json(const StragglerJob& job);

}  // namespace stepscope

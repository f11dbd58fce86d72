// SPDX-License-Identifier: Apache-2.0
// What a job's straggler analysis (analysis/job_table/straggler_job.h) means.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/diagnose/verdict.h"

namespace stepscope {

// "This job runs at 1.97 times its ideal step …", and who or what explains it.
[[nodiscard]] JobVerdict straggler_verdict(const StragglerJob& job);
// What the verdict rests on or lacks.
[[nodiscard]] std::vector<std::string> straggler_warnings(const StragglerJob& job);

// "100 %": the share of the loss that is explained, within 0 and 1.
[[nodiscard]] std::string share_in_words(const Explained& explained);
// "rank 4 (DP rank 1, stage 0)", or the ranks where there are several.
[[nodiscard]] std::string worst_workers_in_words(const StragglerJob& job);
// Time a step saves if all stages compute alike; needs job.balance.
[[nodiscard]] Seconds saved_by_balance(const StragglerJob& job);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Joins logs of GPUs with the ranks of a job: what each rank's GPU did in each of its steps.
#pragma once

#include <span>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/event/gpu_log.h"

namespace stepscope {

// Sets job.gpus. `ranks` are those that `job` was made of. `zone`: how far the calendar of logs
// without a zone is from UTC, if the user says so. Nothing is set without logs.
void add_gpu_evidence(JobResult& job, std::span<const RankInput> ranks,
                      std::span<const GpuLog> logs, std::optional<int> world_size,
                      std::optional<Ns> zone);

}  // namespace stepscope

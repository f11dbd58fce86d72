// SPDX-License-Identifier: Apache-2.0
// What `analyze` would say of the recorded steps: rank 0 gathers the rows of all ranks and judges
// them like traces that were read.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/train/train_result.h"
#include "engine/zero/engine/trace_recorder.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Steps that are kept for the verdict where no trace was asked for.
inline constexpr std::size_t verdict_steps = 32;

struct RankRows {
  zero::TraceOptions options;
  zero::RecordedRows rows;
};

// All ranks call it. Rank 0 gets the rows by rank, the others nothing. Errors: the group's.
[[nodiscard]] Result<std::vector<RankRows>> gather_rows(Communicator& comm,
                                                        const zero::TraceOptions& options,
                                                        const zero::RecordedRows& own);

// The verdict of the recorded steps without `first_step`, the run's first, which warms caches and
// pages up.
[[nodiscard]] TrainVerdict verdict_of(std::vector<RankRows> ranks, std::int64_t first_step);

}  // namespace stepscope

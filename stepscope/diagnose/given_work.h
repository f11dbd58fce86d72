// SPDX-License-Identifier: Apache-2.0
// How much work a rank is given, by the shapes of its operators: a rank that is slow with the work
// of its peers has another cause than one that has more of it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Whether the shapes of nearly all products of the rank are recorded.
[[nodiscard]] bool knows_work(const RankResult& rank);

// FLOPs of the products of these ranks / those of the other ranks of their role, means over ranks
// and the steps that all of them have. Absent where shapes, steps or peers are missing.
[[nodiscard]] std::optional<double> given_work(const JobResult& job, std::span<const int> ranks);

// Ranks of one role that are given different amounts of work in a step, with times that follow.
struct UnevenWork {
  std::vector<const RankResult*> ranks;  // of the role, in the job
  double spread = 0;                     // mean over steps of (most - least) / mean FLOPs
  double follows = 0;  // correlation of FLOPs and time, as deviations from the mean of a step
};
// The role with the largest spread; absent where work is even, or time does not follow it.
[[nodiscard]] std::optional<UnevenWork> uneven_work(const JobResult& job);

}  // namespace stepscope

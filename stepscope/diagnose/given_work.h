// SPDX-License-Identifier: Apache-2.0
// How much work a rank is given, by the shapes of its operators: a rank that is slow with the work
// of its peers has another cause than one that has more of it.
#pragma once

#include <optional>
#include <span>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Whether the shapes of nearly all products of the rank are recorded.
[[nodiscard]] bool knows_work(const RankResult& rank);

// FLOPs of the products of these ranks / those of the other ranks of their role, means over ranks
// and the steps that all of them have. Absent if shapes, steps or peers lack.
[[nodiscard]] std::optional<double> given_work(const JobResult& job, std::span<const int> ranks);

}  // namespace stepscope

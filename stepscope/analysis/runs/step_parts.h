// SPDX-License-Identifier: Apache-2.0
// What each step of a job spent on each part of it: the budget's categories, the classes of
// compute and the kernels, as series that a test can compare.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

enum class PartKind : std::uint8_t {
  budget,   // exclusive: a step's categories sum to its wall time
  compute,  // classes of compute, exclusive: they sum to compute and comm_overlapped
  kernel,   // what the device ran, by name; kernels may overlap
};
inline constexpr std::array<std::string_view, 3> part_kind_names = {"budget", "class", "kernel"};

struct PartSeries {
  PartKind kind = PartKind::budget;
  std::string name;
  std::vector<double> ns;  // one a step of the job, mean over its ranks
};

// In the order of `job.steps`. Parts that take no time in any step are left out. `ranks`: those
// that `job` was made from.
[[nodiscard]] std::vector<PartSeries> step_parts(const JobResult& job,
                                                 std::span<const RankInput> ranks);

}  // namespace stepscope

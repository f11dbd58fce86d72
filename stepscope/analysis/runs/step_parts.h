// SPDX-License-Identifier: Apache-2.0
// The time of each step of a job in each of its parts: the budget's categories, the classes of
// compute and the kernels, as series for statistical tests.
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
  kernel,   // kernels of the device by name; they may overlap
};
inline constexpr std::array<std::string_view, 3> part_kind_names = {"budget", "class", "kernel"};

struct PartSeries {
  PartKind kind = PartKind::budget;
  std::string name;
  std::vector<double> ns;  // one per step of the job, mean over its ranks
};

// In the order of `job.counted`. Parts without time in any step are left out. `ranks` must be those
// that `job` was made from.
[[nodiscard]] std::vector<PartSeries> step_parts(const JobResult& job,
                                                 std::span<const RankInput> ranks);

}  // namespace stepscope

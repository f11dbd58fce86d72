// SPDX-License-Identifier: Apache-2.0
// Whether numbers that may depend on one another are above zero by more than they vary.
#pragma once

#include <cmath>
#include <numeric>
#include <span>

#include "stepscope/stats/long_run.h"
#include "stepscope/stats/student_t.h"

namespace stepscope {

// Fewer do not say how they depend on one another.
inline constexpr std::size_t least_for_chance = 8;
// Of all ranks together, that one is called late and is not.
inline constexpr double job_chance = 0.01;

// Student's t, one-sided, with the standard error and the degrees of freedom of long_run.h. Equal
// numbers vary by nothing: then whether they are positive. False without any. Where the largest of
// several is asked for, `chance` is shared among them (Bonferroni): of a thousand ranks fifty are
// later than chance makes one of twenty.
[[nodiscard]] inline bool more_than_chance(std::span<const double> values, double chance) {
  if (values.empty()) return false;
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const LongRun known = long_run(values);
  if (mean <= 0 || known.variance <= 0) return mean > 0;
  return student_t_tails(mean / std::sqrt(known.mean_variance()), known.degrees) <= 2 * chance;
}

}  // namespace stepscope

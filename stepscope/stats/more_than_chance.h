// SPDX-License-Identifier: Apache-2.0
// Tests whether the mean of numbers that may be autocorrelated is significantly above zero.
#pragma once

#include <cmath>
#include <numeric>
#include <span>

#include "stepscope/stats/long_run.h"
#include "stepscope/stats/student_t.h"

namespace stepscope {

// Fewer values do not show their autocorrelation.
inline constexpr std::size_t least_for_chance = 8;
// Over all ranks together: the probability that a rank is called late and is not.
inline constexpr double job_chance = 0.01;

// Student's t, one-sided, with the standard error and the degrees of freedom of long_run.h. Equal
// numbers have no variance; the answer is then whether they are positive. False without numbers. To
// test the largest of several, divide `chance` among them (Bonferroni): otherwise 50 of 1000 ranks
// are called late at a chance of one in twenty.
[[nodiscard]] inline bool more_than_chance(std::span<const double> values, double chance) {
  if (values.empty()) return false;
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const LongRun known = long_run(values);
  if (mean <= 0 || known.variance <= 0) return mean > 0;
  return student_t_tails(mean / std::sqrt(known.mean_variance()), known.degrees) <= 2 * chance;
}

}  // namespace stepscope

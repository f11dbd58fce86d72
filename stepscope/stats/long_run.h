// SPDX-License-Identifier: Apache-2.0
// The precision of the mean of autocorrelated numbers: the integrated autocorrelation time, the
// effective sample size, and the uncertainty of both.
//
// Two models of the series are fitted, and the longer time is taken. The first is an AR(1); its
// coefficient is corrected for the bias of small samples, -(1 + 4 r) / n (Marriott and Pope, 1954).
// The second is the AR(p) that the Bayesian information criterion chooses by Levinson's recursion.
// Negative correlation is not credited. The degrees of freedom are fewer than n / time because the
// time itself is uncertain; without that, tests of strongly correlated steps are wrong too often
// (docs/explanation/compare.md).
#pragma once

#include <cstddef>
#include <span>

namespace stepscope {

struct LongRun {
  std::size_t count = 0;
  double time = 1;       // integrated autocorrelation time in steps, >= 1
  double effective = 0;  // count / time
  double variance = 0;   // of a single value
  double degrees = 1;    // of mean_variance(), >= 1
  double lag1 = 0;       // autocorrelation of neighbours, corrected, in [0, 0.99]
  int order = 0;         // p of the AR(p)

  [[nodiscard]] double mean_variance() const {
    return count == 0 ? 0 : variance * time / static_cast<double>(count);
  }
  // The lag-1 autocorrelation of an AR(1) with this time.
  [[nodiscard]] double equivalent_lag1() const { return (time - 1) / (time + 1); }
};

using Series = std::span<const double>;

// Takes stretches of one process that are not adjacent (launches of a program), each in time order
// and with its own mean. Constant and single values have time 1 and variance 0. O(N) x at most 40
// lags.
[[nodiscard]] LongRun long_run(std::span<const Series> stretches);
[[nodiscard]] LongRun long_run(Series values);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Tests whether the steps of B take longer than those of A. Gives the ratio of medians with its
// interval, a test of the mean, and a verdict. The verdict needs both, and a difference that
// matters (docs/explanation/compare.md).
//
// *Interval*: block bootstrap of both medians on logarithms. Blocks lose a part of the long-run
// variance. So each arm's deviations are scaled to the long-run variance of the signs of an AR(1)
// with the arm's correlation time, sum (2 / pi) asin(r^|k|). If the blocks show more than that by
// two standard errors, the blocks' variance is used. Both ends are widened by t / z, because the
// correlation time is an estimate.
// *Test*: Welch's on the mean logarithm, with values beyond Hampel's limits moved onto them, n_eff
// in place of n, and Satterthwaite's degrees of freedom for the long-run variances.
// *Outliers and correlation*: isolated outliers hide the correlation of the steps between them. So
// the long-run variance is also computed with outliers replaced by their neighbours, plus the
// outliers' own variance; the larger counts.
// *Far apart*: if the arms differ by more than an AR(1) with a coefficient of 0.99 explains, that
// bound gives p and the interval where it is smaller than the two above.
// *Separated*: if no step of one arm is as long as any of the other, and the medians differ by more
// than launches of one program do (`large`), an exact test counts: of exchangeable steps, those of
// one arm are the longest in 2 of C(n_a + n_b, n_a) orders. It estimates neither spread nor
// correlation, so it can call a change with four steps an arm (p = 0.029). Correlation makes the
// steps of an arm alike and so moves its level, but by no more than levels of launches differ. In
// an experiment with 2,700 pairs of four steps from 25 equal launches, during ten compilations on
// two cores, 4.3 % were separated with medians that differ by a half, and 30 % by a fifth.
// *Few steps*: with fewer than `least_effective` effective steps the correlation is hardly known.
// The test and the interval then follow from a bound of it (few_steps.h) instead of an estimate. Up
// to 200 steps an arm the bound counts in addition to the estimate: the smaller p, and what both
// intervals hold. So a high estimate takes nothing back that fewer steps have shown.
// *Launches*: with two or more launches an arm, the same statistics are computed on launch means,
// with n = the number of launches. The wider interval and the larger p are used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/stats/long_run.h"

namespace stepscope {

struct RatioOptions {
  double alpha = 0.05;
  double floor = 0.01;         // smaller changes are never called
  double large = 1.5;          // launches of one program differ by less (*separated* above)
  double least_effective = 8;  // with fewer effective steps an arm: *few steps* above
  std::size_t replicates = 2000;
  std::uint64_t seed = 1;
};

enum class Verdict : std::uint8_t {
  not_enough_data,  // fewer effective steps than `least_effective`, and no difference is called
  faster,           // B than A
  slower,           // B than A
  same,             // the whole interval is within the floor
  inconclusive,     // the data cannot decide
};
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct RatioArm {
  double median = 0;
  LongRun run;  // of the logarithms within the limits
};

struct RatioTest {
  RatioArm a;
  RatioArm b;
  double ratio = 1;                                   // median of B / median of A
  std::optional<std::pair<double, double>> interval;  // of the ratio; absent below 3 values an arm
                                                      // and where it would reach beyond 100 times
  std::optional<double> p_steps;      // steps as the unit, corrected; the smallest that counts
  std::optional<double> p_separated;  // of exchangeable steps (*separated*); absent: arms overlap
  std::optional<double> p_launches;   // launches as the unit
  std::optional<double> p;            // the larger
  bool few = true;                    // fewer effective steps than `least_effective`
  Verdict verdict = Verdict::not_enough_data;
};

// Each arm is a list of launches with steps in time order, all > 0. At least one step in all.
[[nodiscard]] RatioTest test_ratio(std::span<const Series> a, std::span<const Series> b,
                                   const RatioOptions& options = {});

// The long-run properties of the logarithms of an arm's steps, with values beyond Hampel's limits
// moved onto them (*outliers and correlation* above); the source of n_eff. REQUIRES: at least one
// step, all > 0.
[[nodiscard]] LongRun long_run_of_steps(std::span<const Series> launches);

// The same test on plain differences, for the seconds of one part of the step.
struct DifferenceTest {
  double a = 0;  // means
  double b = 0;
  double difference = 0;                              // b - a
  std::optional<std::pair<double, double>> interval;  // absent below two values an arm
  std::optional<double> p;
};
[[nodiscard]] DifferenceTest test_difference(std::span<const Series> a, std::span<const Series> b,
                                             double alpha = 0.05);

// Drift of launches with the order in which they ran, apart from the difference of the arms: the
// slope of a line through both arms' values. `in_b` and `value` are in order. Absent below five
// launches or without both arms.
struct LaunchDrift {
  double slope = 0;  // of `value`, from one launch to the next
  double p = 1;
  // The part of B - A that the slope alone causes in this order; 0 for A B B A.
  double bias = 0;
};
[[nodiscard]] std::optional<LaunchDrift> find_launch_drift(std::span<const bool> in_b,
                                                           std::span<const double> value);

}  // namespace stepscope

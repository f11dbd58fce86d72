// SPDX-License-Identifier: Apache-2.0
// Compares two arms of an experiment, each of one or more launches: the steps that count, the
// difference between the arms, and the changes within the step. Statistics: stats/median_ratio.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/step_times_by_rank.h"
#include "stepscope/stats/change_points.h"
#include "stepscope/stats/median_ratio.h"

namespace stepscope {

// One run of the program as it was read.
struct LaunchSteps {
  std::string name{};
  std::vector<double> wall_ns{};      // > 0, in time order
  std::vector<std::string> causes{};  // parallel, or empty: known cause of each step
  // Parallel, or empty: the number of each step, where not every step has a time.
  std::vector<std::int64_t> numbers{};
  std::vector<double> tokens{};     // parallel, or empty: of the job in each step
  std::vector<PartSeries> parts{};  // each parallel to wall_ns; empty without a trace
  std::string source{};
  bool on_cpu = false;  // traces without a device
};

struct CompareOptions {
  RatioOptions ratio;
  std::optional<std::size_t> warm_up;  // steps of each launch to leave out; absent: detected
};

// Outlier steps (usual_interval() of stats/hampel.h) by their cause: the cause in the input, else
// the part of the step that grew most, else "unknown", or "unknown and faster". Steps before and
// behind a change of their launch's level have the limits of that level. More than a quarter of all
// steps without a cause are a level of their own, and no outliers. Outliers stay in the comparison.
struct OutlierGroup {
  std::string cause;
  std::size_t count = 0;
  double median_ns = 0;
  double extra_ns = 0;  // beyond the median of their level, summed
  std::optional<std::size_t>
      every{};  // number of steps between two of them, if it is always the same (3 or more)
};

struct ComparedLaunch {
  std::string name;
  std::string source;
  std::size_t steps = 0;          // all steps
  std::size_t warm_up = 0;        // steps left out
  double slowest_warm_up_ns = 0;  // of those; 0 without
  bool unsettled = false;         // no end of the warm-up was found
  // Lasting changes of level among the remaining steps; `at` counts from the first of all steps.
  // Few of such steps are independent, so they say little of one level.
  std::vector<ChangePoint> changes{};
  double median_ns = 0;  // of the remaining steps, like the next fields
  double mean_ns = 0;
  std::vector<double> sorted_ns{};  // all of them, ascending
};

struct ComparedArm {
  std::vector<ComparedLaunch> launches{};
  std::size_t steps = 0;  // after warm-up
  double median_ns = 0;
  double mean_ns = 0;
  std::optional<double> stdev_ns{};
  double p95_ns = 0;
  double n_eff = 0;
  std::optional<double> tokens_per_s{};  // of the job; absent unless every launch names its tokens
  double correlation_time = 1;           // number of steps worth one independent step
  std::vector<OutlierGroup> outliers{};  // most time first
};

// The steps that an arm leaves out as warm-up, and how many times as long as its median step the
// longest of them is (0 without).
struct ArmWarmUp {
  std::size_t steps = 0;
  double times_as_long = 0;
};
[[nodiscard]] ArmWarmUp warm_up_of(const ComparedArm& arm);

struct PartDifference {
  PartKind kind = PartKind::budget;
  std::string name;
  std::string shapes{};             // of an operator, as recorded; may be empty
  DifferenceTest test;              // ns per step
  std::optional<double> q;          // false-discovery rate among the parts of its kind
  bool called = false;              // q < alpha
  std::optional<double> a_calls{};  // per step; absent where an arm does not count them
  std::optional<double> b_calls{};
};

struct RunComparison {
  ComparedArm a;
  ComparedArm b;
  RatioTest ratio;
  std::optional<LaunchDrift> drift;   // of log(median) per launch; if the order is known
  std::vector<PartDifference> parts;  // largest difference first within a kind; if both arms have
                                      // traces
  bool on_cpu = false;                // all launches are traces without a device
};

// `order`: the launches in the order they ran; false = the next of A, true = the next of B. Empty
// if unknown. Each arm has at least one launch with steps.
[[nodiscard]] RunComparison compare_runs(std::span<const LaunchSteps> a,
                                         std::span<const LaunchSteps> b,
                                         const std::vector<bool>& order,
                                         const CompareOptions& options = {});

// Warm-up and outliers of one arm alone.
[[nodiscard]] ComparedArm describe_arm(std::span<const LaunchSteps> launches,
                                       const CompareOptions& options = {});

// One program at several values of a setting: the fastest value, and the values that cannot be
// distinguished from it.
struct SweepValue {
  std::string value;
  std::vector<LaunchSteps> launches;
};

struct SweptValue {
  std::string value;
  ComparedArm arm;
  std::optional<RatioTest> beside_best;  // its steps ÷ the best value's steps; absent for the best
  std::optional<double> q;               // false-discovery rate of that test among all values
  bool tie = false;  // not called slower than the best: its interval includes 1, or q or the floor
                     // rejects it; false for the best
};

struct Sweep {
  std::vector<SweptValue> values;  // in the given order
  std::size_t best = 0;            // index of the smallest median
  // False if an arm has too few effective steps to detect any difference.
  bool enough_data = true;
};

// Requires at least one value, and a launch with steps for each value.
[[nodiscard]] Sweep compare_values(std::span<const SweepValue> values,
                                   const CompareOptions& options = {});

}  // namespace stepscope

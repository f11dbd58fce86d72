// SPDX-License-Identifier: Apache-2.0
// One program at several values of a setting: the fastest value, and the values that cannot be told
// from it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"

namespace stepscope {

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

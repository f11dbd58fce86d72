// SPDX-License-Identifier: Apache-2.0
// One program at several values of a setting: which is fastest, and which cannot be told from it.
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
  std::optional<RatioTest> beside_best;  // its steps ÷ those of the best; absent for the best
  std::optional<double> q;               // false-discovery rate of that test among all values
  bool tie = false;  // not called slower than the best: no interval apart from 1, or q or the
                     // floor says no; false for the best
};

struct Sweep {
  std::vector<SweptValue> values;  // in the order given
  std::size_t best = 0;            // place of the least median
  // Whether an arm has too few effective steps for any difference to be called.
  bool enough_data = true;
};

// Each value has a launch with steps; at least one value.
[[nodiscard]] Sweep compare_values(std::span<const SweepValue> values,
                                   const CompareOptions& options = {});

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Comparisons, for tests.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/verbs/compare/compare.h"

namespace stepscope::test {

inline Comparison compared(const LaunchSteps& a, const LaunchSteps& b,
                           std::optional<double> limit = std::nullopt) {
  Comparison c;
  c.runs = compare_runs({&a, 1}, {&b, 1}, {});
  c.label_a = "before";
  c.label_b = "after";
  c.max_regression = limit;
  c.regression = regression_of(c.runs, limit);
  return c;
}

// B waits 8 ms a step longer for data.
inline Comparison slower_with_parts() {
  LaunchSteps a = launch_of_steps(20, 100);
  LaunchSteps b = launch_of_steps(20, 110);
  a.parts = {{PartKind::budget, "idle_data", std::vector<double>(20, 1e6)}};
  b.parts = {{PartKind::budget, "idle_data", std::vector<double>(20, 9e6)}};
  return compared(a, b);
}

}  // namespace stepscope::test

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/compare/compare.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(Compare, ARegressionIsSlowerByMoreThanAsked) {
  const auto regression = [](double level, double limit, std::size_t n = 200) {
    const LaunchSteps a = launch_of_steps(200, 100);
    const LaunchSteps b = launch_of_steps(n, level);
    return regression_of(compare_runs({&a, 1}, {&b, 1}, {}), limit);
  };
  EXPECT_EQ(regression(110, 0.05), true);
  EXPECT_EQ(regression(110, 0.2), false);
  EXPECT_EQ(regression(90, 0), false);
  EXPECT_EQ(regression(110, 0.05, 2), std::nullopt);
  EXPECT_EQ(regression(101, 0.05, 3), std::nullopt);
}

// An open verdict passes if even the far end of the interval is within the limit.
TEST(Compare, AnOpenVerdictIsJudgedByItsInterval) {
  RunComparison runs;
  runs.ratio.verdict = Verdict::inconclusive;
  runs.ratio.ratio = 1.005;
  runs.ratio.interval = {0.98, 1.03};
  EXPECT_EQ(regression_of(runs, 0.02), std::nullopt);
  EXPECT_EQ(regression_of(runs, 0.04), false);
  EXPECT_EQ(regression_of(runs, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/run_warnings.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(LogWarnings, WarnsOfWhatWasCutAndOfARegression) {
  const MadeLog made;
  const auto warnings = say_all(log_warnings(made.report()));
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_TRUE(has(warnings[0], "2 lines that report on a step are cut"));
  EXPECT_TRUE(has(warnings[1], "longer at step 310"));
}

TEST(LogWarnings, SaysThatTheStepDrifts) {
  MadeLog made;
  made.account.changes.clear();
  made.account.drift = Drift{.first = 470e6, .last = 660e6, .p = 1e-9};
  const auto warnings = say_all(log_warnings(made.report()));
  EXPECT_TRUE(has(warnings.back(), "becomes 40.4 % longer from one end")) << warnings.back();
}

}  // namespace
}  // namespace stepscope

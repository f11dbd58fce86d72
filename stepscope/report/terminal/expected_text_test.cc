// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/expected_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

struct ExpectedText : testing::Test, ExpectedRun {};

TEST_F(ExpectedText, TheTextHasEveryTableAndTheStepsSums) {
  const std::string text =
      expected_step_text(made.report, 100) + expected_shapes_text(made.report, 100);
  for (const std::string_view part :
       {"pointwise", "· norm", "· elementwise", "the step", "all attention", "with waiting",
        "> 1000 ×", "+20.0 ms", "recomputed", "10.0 ms", "compute.units = 132"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  made.report.expected.reset();
  EXPECT_EQ(expected_step_text(made.report, 100), "");
  EXPECT_EQ(expected_shapes_text(made.report, 100), "");
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/plan_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PlanText, SaysTheBestPlanAndWhyItWins) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5), found_plan(4, 2.9, 1.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("The fastest plan takes 3.50 s a step: 40.0 % MFU"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Why it wins against TP 4"), std::string::npos) << text;
  // The larger difference first, and the one that speaks against it too.
  const std::size_t bubble = text.find("pipeline bubble");
  const std::size_t matmul = text.find("matrix products");
  ASSERT_NE(matmul, std::string::npos);
  EXPECT_LT(bubble, matmul);
  EXPECT_NE(text.find("-1.00 s", bubble), std::string::npos);
  EXPECT_NE(text.find("+100 ms", matmul), std::string::npos);
}

TEST(PlanText, CountsToTheLastOne) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("1,234,567 plans"), std::string::npos) << text;
  EXPECT_NE(text.find("does not fit in memory"), std::string::npos) << text;
}

TEST(PlanText, ShowsPlansOfOnesOwn) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2.9, 1.6), cannot_run()};
  const std::string text = plan_text(s.report);
  EXPECT_LT(text.find("tp=4 takes 4.50 s"), text.find("pipeline bubble  ")) << text;
  EXPECT_NE(text.find("tp=7 cannot run: 7 does not divide 64."), std::string::npos) << text;
}

TEST(PlanText, MarksNearTies) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5), found_plan(4, 3, 0.55)};
  for (FoundPlan& p : s.report.found.best) p.near_tie = true;
  s.report.request.model_error = 0.05;
  EXPECT_NE(plan_text(s.report).find("≈: within the model's error (5.0 %)"), std::string::npos);
}

TEST(PlanText, SaysThatNothingFits) {
  Searched s;
  s.report.found.smallest_devices = 256;
  EXPECT_NE(plan_text(s.report).find("Nothing fits"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/plan/plan.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

PlanRequest of_gpt2() {
  return {.model = "gpt2",
          .machine = "a100_sxm_80gb",
          .base = {.fields = {{"global-batch", "64"}}},
          .devices = {8},
          .threads = 1};
}

TEST(Plan, FindsTheFastestAndPutsOnesOwnBesideIt) {
  PlanRequest request = of_gpt2();
  request.against = {"tp=2", "tp=7"};
  const auto result = plan(request);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_FALSE(result->found.best.empty());
  EXPECT_EQ(result->found.best.front().plan.devices, 8);
  ASSERT_EQ(result->against.size(), 2U);
  ASSERT_TRUE(result->against[0].cost);
  EXPECT_EQ(result->against[0].plan.dp, 4);
  EXPECT_GE(result->against[0].cost->step().count(),
            result->found.best.front().cost.step().count());
  EXPECT_FALSE(result->against[1].cost);
  EXPECT_NE(result->against[1].why_not, "");
  ASSERT_EQ(result->flags.size(), 3U);
  EXPECT_EQ(result->request.stop, nullptr);
}

TEST(Plan, KeepsToWhatIsFixed) {
  PlanRequest request = of_gpt2();
  request.fix = {{"tp", "2"}};
  request.most = {{"pp", "1"}};
  const auto result = plan(request);
  ASSERT_TRUE(result) << result.error().message();
  for (const FoundPlan& found : result->found.best) {
    EXPECT_EQ(found.plan.tp, 2);
    EXPECT_EQ(found.plan.pp, 1);
  }
  request.fix = {{"zerro", "1"}};
  EXPECT_NE(plan(request).error().what.find("--fix zerro=1"), std::string::npos);
}

TEST(Plan, AStoppedSearchKeepsWhatItHas) {
  StopFlag stop;
  stop.request();
  const auto result = plan(of_gpt2(), {.stop = &stop});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(result->found.stopped);
}

TEST(Plan, SaysWhatIsMissing) {
  PlanRequest request = of_gpt2();
  request.devices.clear();
  EXPECT_NE(plan(request).error().what.find("number of GPUs"), std::string::npos);
  EXPECT_NE(plan({.machine = "a100_sxm_80gb"}).error().what.find("model"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

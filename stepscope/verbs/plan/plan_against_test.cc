// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/plan/plan_against.h"

#include <gtest/gtest.h>

#include <array>

namespace stepscope {
namespace {

Plan base() {
  Plan plan;
  plan.devices = 64;
  plan.dp = 64;
  plan.batch.sequence = 2048;
  plan.batch.global = 64;
  return plan;
}

constexpr std::array<std::int64_t, 1> one_count = {64};
constexpr std::array<std::int64_t, 3> counts = {64, 128, 256};

std::string complaint(const std::string& text) {
  const auto plan = plan_against(text, base(), one_count);
  return plan ? std::string() : plan.error().message();
}

TEST(PlanAgainst, TakesSettingsSwitchesAndLists) {
  const auto plan = plan_against(
      "tp=4,sequence-parallel,pp=2,schedule=interleaved,virtual_stages=2,stage-layers=3,4,5,4,"
      "offload=optimizer=host,gradients=nvme,zero=1",
      base(), one_count);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->tp, 4);
  EXPECT_TRUE(plan->tensor.sequence_parallel);
  EXPECT_EQ(plan->pipeline.schedule, Schedule::interleaved);
  EXPECT_EQ(plan->pipeline.virtual_stages, 2);
  EXPECT_EQ(plan->pipeline.stage_layers, (std::vector<std::int64_t>{3, 4, 5, 4}));
  EXPECT_EQ(plan->memory.optimizer_at, Residence::host);
  EXPECT_EQ(plan->memory.gradients_at, Residence::nvme);
  EXPECT_EQ(plan->zero, 1);
  EXPECT_EQ(plan->dp, 8);  // what is left
  EXPECT_EQ(plan->devices, 64);
  EXPECT_EQ(plan->batch.global, 64);
}

TEST(PlanAgainst, SpacesAndALoneSwitchAreSettings) {
  const auto spaced = plan_against(" tp=4 , pp=2", base(), one_count);
  ASSERT_TRUE(spaced) << spaced.error().message();
  EXPECT_EQ(spaced->tp, 4);
  EXPECT_EQ(spaced->pp, 2);
  const auto lone = plan_against("sequence-parallel", base(), one_count);
  ASSERT_TRUE(lone) << lone.error().message();
  EXPECT_TRUE(lone->tensor.sequence_parallel);
}

TEST(PlanAgainst, OfSeveralCountsTakesTheLargestOrWhatItsDegreesMake) {
  EXPECT_EQ(plan_against("tp=8", base(), counts)->devices, 256);
  EXPECT_EQ(plan_against("tp=8", base(), counts)->dp, 32);
  EXPECT_EQ(plan_against("tp=8,dp=16", base(), counts)->devices, 128);
  // One count stays, and check_plan says that the degrees do not make it.
  EXPECT_EQ(plan_against("tp=8,dp=16", base(), one_count)->devices, 64);
}

TEST(PlanAgainst, DegreesWithoutBoundAreNoOverflow) {
  const auto plan = plan_against("tp=9000000000000000000,pp=9000000000000000000", base(), counts);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->dp, 1);
}

TEST(PlanAgainst, RefusesWhatItDoesNotUnderstand) {
  EXPECT_NE(complaint("tp=8,zerro=1").find("did you mean zero"), std::string::npos);
  EXPECT_NE(complaint("tp=x").find("positive whole number"), std::string::npos);
  EXPECT_NE(complaint("tp=8,pp").find("positive whole number"), std::string::npos);
  EXPECT_NE(complaint("8,tp=8").find("write tp=8"), std::string::npos);
  for (const char* nothing : {"", " ", "tp"})
    EXPECT_NE(complaint(nothing).find("write tp=8,pp=16"), std::string::npos) << nothing;
  EXPECT_NE(complaint("=").find("--against ="), std::string::npos);
  EXPECT_NE(complaint("tp=8,global-batch=32").find("32 × 2048"), std::string::npos);
  EXPECT_FALSE(plan_against("tp=8,dp=64", base(), counts));  // 512 devices
  const auto none = plan_against("none.json", base(), one_count);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().file, "none.json");
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/plan_source.h"

#include <gtest/gtest.h>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"

namespace stepscope {
namespace {

// The flags as CLI11 reads them.
PlanSource plan_typed(std::string line) {
  CLI::App app;
  PlanSource source;
  declare_plan_source(app, source);
  app.parse(std::move(line));
  return source;
}

Result<MadePlan> made(std::string line, const char* model = "gpt3-175b",
                      const std::vector<PlanSetting>& differs = {}) {
  const auto m = find_model(model);
  const auto machine = machine_named("a100_sxm_80gb");
  EXPECT_TRUE(m && machine);
  return make_plan(settings_of(plan_typed(std::move(line))), *m, *machine, differs);
}

std::string complaint(const std::string& line, const char* model = "gpt3-175b") {
  const auto plan = made(line, model);
  return plan ? std::string() : plan.error().message();
}

TEST(PlanSource, DpIsWhatTheOtherDegreesLeave) {
  const auto plan = made("--gpus 1024 --tp 8 --pp 16 --global-batch 1536");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->plan.devices, 1024);
  EXPECT_EQ(plan->plan.dp, 8);
  EXPECT_EQ(plan->plan.batch.sequence, 2048);  // learned positions
}

TEST(PlanSource, AGivenDpIsKeptEvenWhereItIsWrong) {
  const auto plan = made("--gpus 64 --tp 8 --dp 3 --global-batch 64");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->plan.dp, 3);
  const auto m = find_model("gpt3-175b");
  const auto checked = check_plan(*m, plan->plan);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("dp must be 8"), std::string::npos);
}

TEST(PlanSource, NodesTimesTheirGpusAreTheDevices) {
  EXPECT_EQ(made("--nodes 4 --global-batch 64")->plan.devices, 32);
  EXPECT_EQ(made("--nodes 4 --gpus-per-node 4 --global-batch 64")->plan.devices, 16);
  EXPECT_NE(complaint("--nodes 4 --gpus 31 --global-batch 64").find("are 32 GPUs"),
            std::string::npos);
}

TEST(PlanSource, SizesAndRecomputationAreWrittenAsInOtherVerbs) {
  const auto plan = made("--gpus 8 --global-batch 8 --bucket 25MB --recompute every:4");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->plan.overlap.bucket, Bytes{25'000'000});
  EXPECT_EQ(plan->plan.memory.recompute, Recompute::every_k);
  EXPECT_EQ(plan->plan.memory.recompute_every, 4);
  EXPECT_NE(complaint("--gpus 8 --global-batch 8 --bucket x").find("write 25MB"),
            std::string::npos);
}

TEST(PlanSource, SwitchesNeedNoValue) {
  const auto plan = made("--gpus 8 --tp 8 --sequence-parallel --global-batch 8");
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->plan.tensor.sequence_parallel);
  EXPECT_FALSE(plan->plan.overlap.tensor);
}

TEST(PlanSource, WhatIsMissingIsAskedFor) {
  EXPECT_NE(complaint("--global-batch 8").find("--gpus N"), std::string::npos);
  EXPECT_NE(complaint("--gpus 8").find("--global-batch N"), std::string::npos);
  EXPECT_NE(complaint("--gpus 8 --global-batch 8", "llama-2-7b").find("--seq N"),
            std::string::npos);
}

TEST(PlanSource, AWrongValueNamesItsFlag) {
  EXPECT_NE(complaint("--gpus 8 --global-batch 8 --zero 7").find("--zero \"7\""),
            std::string::npos);
  for (const char* wrong : {"--gpus 0", "--gpus -8", "--gpus nan", "--gpus 1e30", "--gpus 1.5"})
    EXPECT_THROW((void)plan_typed(wrong), CLI::ParseError) << wrong;
}

TEST(PlanSource, SettingsOverrideFlagsAndDpFollows) {
  const auto plan = made("--gpus 64 --tp 8 --global-batch 64", "gpt3-175b", {{"tp", "4"}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->plan.tp, 4);
  EXPECT_EQ(plan->plan.dp, 16);
}

}  // namespace
}  // namespace stepscope

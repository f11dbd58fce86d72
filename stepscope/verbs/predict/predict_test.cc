// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

PredictRequest on_eight_devices(std::vector<PlanAxis> compare) {
  return {.model = "gpt2",
          .machine = "a100_sxm_80gb",
          .plan = {.gpus = 8, .fields = {{"global-batch", "64"}}},
          .compare = std::move(compare)};
}

TEST(Predict, ComparedPlansAreTheProductOfTheirAxes) {
  const auto result =
      predict(on_eight_devices({{"zero", {"0", "1"}}, {"recompute", {"none", "full"}}}));
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->comparison.size(), 4U);
  EXPECT_EQ(result->comparison[1].label, "zero=0 recompute=full");
  EXPECT_EQ(result->comparison[2].plan.zero, 1);
  EXPECT_EQ(result->plan.zero, 0);
  EXPECT_TRUE(predict(on_eight_devices({}))->comparison.empty());
}

TEST(Predict, AxesThatAreNoneAreRefused) {
  for (const PlanAxis& axis : {PlanAxis{"zero", {"0", "9"}}, PlanAxis{"zerro", {"1"}},
                               PlanAxis{"", {"1"}}, PlanAxis{"zero", {"0", "", "1"}}})
    EXPECT_FALSE(predict(on_eight_devices({axis}))) << axis.name;
  PlanAxis many{"global-batch", {}};
  for (int i = 1; i < 300; ++i) many.values.push_back(std::to_string(i));
  EXPECT_NE(predict(on_eight_devices({many})).error().message().find("more than 256"),
            std::string::npos);
}

TEST(Predict, AWholePlanNeedsNoFields) {
  Plan plan;
  plan.devices = plan.dp = 8;
  plan.batch.global = 64;
  plan.batch.sequence = 1024;
  const auto typed = predict({.model = "gpt2", .machine = "a100_sxm_80gb", .plan = {.plan = plan}});
  ASSERT_TRUE(typed) << typed.error().message();
  EXPECT_EQ(typed->cost.step().count(), predict(on_eight_devices({}))->cost.step().count());
}

TEST(Predict, APlanThatDoesNotFitNamesOneThatDoes) {
  const auto result =
      predict({.model = "llama-2-7b",
               .machine = "v100_sxm2_32gb",
               .plan = {.gpus = 32,
                        .fields = {{"seq", "2048"}, {"global-batch", "64"}, {"dtype", "fp16"}}}});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->fitting);
  ASSERT_TRUE(result->fitting->plan);
  EXPECT_EQ(result->fitting->plan->devices, 32);
}

TEST(Predict, WithoutAModelOrAMachineItSaysWhichIsMissing) {
  EXPECT_NE(predict({.machine = "a100_sxm_80gb"}).error().what.find("model"), std::string::npos);
  EXPECT_NE(predict({.model = "gpt2"}).error().what.find("machine"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

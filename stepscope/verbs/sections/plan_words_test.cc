// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/plan_words.h"

#include <gtest/gtest.h>

#include <vector>

#include "stepscope/cost/model/model_json.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

TEST(PlanWords, WordsAPlanByWhatItSplits) {
  Plan plan;
  plan.tp = 8;
  plan.tensor.sequence_parallel = true;
  plan.pp = 4;
  plan.dp = 2;
  plan.zero = 1;
  plan.batch.global = 16;
  EXPECT_EQ(say(plan_in_words(plan)),
            "TP 8 with sequence parallelism · PP 4 (1f1b) · DP 2, ZeRO-1 · 8 micro-batches of 1 × "
            "2048 tokens · bf16");
  plan.memory.optimizer_at = Residence::host;
  plan.memory.gradients_at = Residence::host;
  plan.memory.parameters_at = Residence::nvme;
  EXPECT_EQ(say(plan_in_words(plan)),
            "TP 8 with sequence parallelism · PP 4 (1f1b) · DP 2, ZeRO-1 · 8 micro-batches of 1 × "
            "2048 tokens · optimizer, gradients in host memory · parameters in NVMe · bf16");
}

TEST(PlanWords, NameScansOfStatesWhereAModelHasThem) {
  EXPECT_EQ(words_of(StepTerm::attention, *find_model("llama-3-8b")), "attention");
  EXPECT_EQ(words_of(StepTerm::matmul, *find_model("nemotron-3-nano-4b")), "matrix products");
  Transformer model = *find_model("nemotron-3-nano-4b");
  EXPECT_EQ(words_of(StepTerm::attention, model), "attention and scans of states");
  std::erase(model.pattern, '*');
  model.layers = static_cast<std::int64_t>(model.pattern.size());
  EXPECT_EQ(words_of(StepTerm::attention, model), "scans of states");
}

TEST(PlanWords, CountStagesThatAreGiven) {
  Plan plan{.devices = 4, .pp = 4, .pipeline = {.stage_layers = {4, 4, 4, 1}}};
  EXPECT_TRUE(
      say(plan_in_words(plan)).starts_with("PP 4 (1f1b, 3 stages of 4 layers, 1 of 1) · DP 1"))
      << say(plan_in_words(plan));
  plan.pipeline.stage_layers = {1, 3, 3, 2};
  EXPECT_TRUE(
      say(plan_in_words(plan)).starts_with("PP 4 (1f1b, 1 stage of 1 layer, 2 of 3, 1 of 2)"))
      << say(plan_in_words(plan));
}

TEST(PlanWords, NameTheSidesOfAGridThatIsNotSquareAndAnOwnSequenceDegree) {
  Plan plan{.devices = 8, .tp = 8, .tensor = {.layout = TensorLayout::two_d, .rows = 2}};
  EXPECT_TRUE(say(plan_in_words(plan)).starts_with("TP 8 (2d, 2 × 4) · DP 1"))
      << say(plan_in_words(plan));
  EXPECT_TRUE(plan_in_brief(plan).starts_with("tp8 2d 2×4 dp1")) << plan_in_brief(plan);
  plan = {.devices = 12,
          .tp = 12,
          .tensor = {.layout = TensorLayout::three_d, .rows = 2, .columns = 3, .depth = 2}};
  EXPECT_EQ(grid_in_words(plan), "2 × 3 × 2");
  plan = {.devices = 8, .tp = 8, .tensor = {.layout = TensorLayout::three_d}};
  EXPECT_EQ(grid_in_words(plan), "");
  plan = {.devices = 4, .tp = 2, .tensor = {.sequence_parallel = true, .sequence_degree = 4}};
  EXPECT_TRUE(say(plan_in_words(plan)).starts_with("TP 2 with sequence parallelism over 4 · "));
  EXPECT_TRUE(plan_in_brief(plan).starts_with("tp2+sp4 dp1")) << plan_in_brief(plan);
}

TEST(PlanWords, NameEveryCollective) {
  using enum CollectiveKind;
  EXPECT_EQ(collectives_in_words(std::vector{all_gather, reduce_scatter}),
            "all_gather + reduce_scatter");
  EXPECT_EQ(collectives_in_words({}), "");
}

TEST(PlanWords, NameTheTiersOfAPass) {
  EXPECT_EQ(tiers_in_words({}), "");
  EXPECT_EQ(tiers_in_words({.flops = {}, .in_domain = true}), "domain");
  EXPECT_EQ(tiers_in_words({.flops = {}, .leaves_domain = true}), "network");
  EXPECT_EQ(tiers_in_words({.flops = {}, .in_domain = true, .leaves_domain = true}),
            "domain + network");
}

}  // namespace
}  // namespace stepscope

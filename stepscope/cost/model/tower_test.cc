// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/tower.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/model/tower_test_models.h"

namespace stepscope {
namespace {

Transformer with_tower() {
  Transformer m = *find_model("qwen3.8-27b");
  m.tower = qwen_tower();
  return m;
}

// The card of Megatron-Bridge prints 27,781,427,952 parameters of the model with its encoder and
// its module of multi-token prediction.
TEST(Tower, HasTheParametersThatARunPrinted) {
  Transformer m = with_tower();
  m.prediction = TokenPrediction{.modules = 1, .layers = "F"};
  ASSERT_TRUE(check_model(m));
  EXPECT_EQ(parameter_count(m).total, 27'781'427'952);
  EXPECT_GE(parameter_bound(m), static_cast<double>(parameter_count(m).total));
  m.prediction.reset();
  EXPECT_EQ(parameter_count(m).total - parameter_count(m).tower,
            parameter_count(*find_model("qwen3.8-27b")).total);
  EXPECT_EQ(parameter_count(m).active, parameter_count(*find_model("qwen3.8-27b")).active);
}

// Megatron-Bridge's vit_flops, and the projection of patches, which it leaves out.
TEST(Tower, HasTheFlopsOfMegatronBridgeAndOfItsProjection) {
  const Transformer m = with_tower();
  const double p = 1024, h = 1152, f = 4304, wide = 4 * h;
  const double theirs =
      27 * p * (8 * h * h + 4 * h * p + 4 * h * f) + p / 4 * (2 * wide * wide + 2 * wide * 5120);
  EXPECT_NEAR(tower_flops(m, 1024) / (theirs + 2 * p * 16 * 16 * 3 * 2 * h), 1, 1e-12);
  const TrainedParts all;
  EXPECT_DOUBLE_EQ(tower_flops(m, {3, 1024}, all), 9 * tower_flops(m, 1024));
  TrainedParts frozen;
  frozen.frozen.add(ModelPart::tower);
  EXPECT_DOUBLE_EQ(tower_flops(m, {3, 1024}, frozen), 3 * tower_flops(m, 1024));
  const TrainedParts adapters{.lora_rank = 8};
  EXPECT_DOUBLE_EQ(tower_flops(m, {1, 1024}, adapters), tower_flops(m, 1024));
  EXPECT_EQ(tower_flops(*find_model("llama-3-8b"), {1, 1024}, all), 0);
}

TEST(Tower, AddsToTheFlopsOfASequenceInEveryConvention) {
  const Transformer m = with_tower();
  for (std::size_t c = 0; c < flops_convention_count; ++c) {
    const auto convention = static_cast<FlopsConvention>(c);
    const double plain = sequence_flops(*find_model("qwen3.8-27b"), 4096, convention);
    EXPECT_DOUBLE_EQ(sequence_flops(m, 4096, convention), plain);
    const double images = sequence_flops(m, 4096, convention, {}, {2, 1024});
    EXPECT_NEAR((images - plain) / (6 * tower_flops(m, 1024)), 1, 1e-9);
    EXPECT_NEAR(model_flops_formula(m, 3, 4096, convention, {}, {2, 1024}).value() / (3 * images),
                1, 1e-12);
  }
}

TEST(Tower, IsTrainedOrFrozen) {
  const Transformer m = with_tower();
  TrainedParts t;
  const std::int64_t all = trained_parameters(m, t);
  EXPECT_EQ(all, parameter_count(m).total);
  t.frozen.add(ModelPart::tower);
  EXPECT_EQ(trained_parameters(m, t), all - parameter_count(m).tower);
}

TEST(Tower, ReadsAndWritesItsSizes) {
  const Transformer m = with_tower();
  const auto again = parse_model(model_json(m), "model.json");
  ASSERT_TRUE(again) << (again ? "" : again.error().message());
  EXPECT_EQ(model_json(*again), model_json(m));
  Transformer odd = m;
  odd.tower->heads = 7;
  EXPECT_FALSE(check_model(odd));
  odd = m;
  odd.tower->layers = 0;
  EXPECT_FALSE(check_model(odd));
}

}  // namespace
}  // namespace stepscope

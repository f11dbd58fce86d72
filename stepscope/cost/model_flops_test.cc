// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model_flops.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

constexpr TransformerShape llama2_7b{.layers = 32,
                                     .hidden = 4096,
                                     .heads = 32,
                                     .kv_heads = 32,
                                     .head_size = 128,
                                     .feed_forward = 11008,
                                     .feed_forward_matrices = 3,
                                     .vocabulary = 32000};
constexpr TransformerShape llama3_8b{.layers = 32,
                                     .hidden = 4096,
                                     .heads = 32,
                                     .kv_heads = 8,
                                     .head_size = 128,
                                     .feed_forward = 14336,
                                     .feed_forward_matrices = 3,
                                     .vocabulary = 128256};

double relative(const TransformerShape& shape, std::int64_t sequence, FlopsConvention convention) {
  return model_flops(shape, 1, sequence, convention).per_step.value /
         model_flops(shape, 1, sequence, FlopsConvention::causal_halved).per_step.value;
}

TEST(ModelFlops, CountTheWeightsOfPublishedModels) {
  EXPECT_NEAR(static_cast<double>(parameters(llama2_7b)), 6.738e9, 0.001e9);
  EXPECT_NEAR(static_cast<double>(parameters(llama3_8b)), 8.030e9, 0.001e9);
}

TEST(ModelFlops, DifferByConventionAsPublishedFiguresDo) {
  EXPECT_NEAR(relative(llama2_7b, 2048, FlopsConvention::six_n), 0.980, 0.0005);
  EXPECT_NEAR(relative(llama2_7b, 2048, FlopsConvention::palm), 1.058, 0.0005);
  EXPECT_NEAR(relative(llama2_7b, 2048, FlopsConvention::torchtitan), 1.039, 0.0005);
  EXPECT_NEAR(relative(llama3_8b, 8192, FlopsConvention::six_n), 0.936, 0.0005);
  EXPECT_NEAR(relative(llama3_8b, 8192, FlopsConvention::palm), 1.186, 0.0005);
  EXPECT_NEAR(relative(llama3_8b, 8192, FlopsConvention::torchtitan), 1.125, 0.0005);
  EXPECT_NEAR(relative(llama3_8b, 131072, FlopsConvention::six_n), 0.325, 0.0005);
  EXPECT_NEAR(relative(llama3_8b, 131072, FlopsConvention::palm), 1.717, 0.0005);
  EXPECT_NEAR(relative(llama3_8b, 131072, FlopsConvention::torchtitan), 1.696, 0.0005);
}

TEST(ModelFlops, GrowWithTheTokensAndNameTheirConvention) {
  const ModelFlops one = model_flops(llama2_7b, 1, 2048, FlopsConvention::palm);
  const ModelFlops many = model_flops(llama2_7b, 1000, 2048, FlopsConvention::palm);
  EXPECT_DOUBLE_EQ(many.per_step.value, 1000 * one.per_step.value);
  EXPECT_EQ(many.convention, "PaLM");
}

TEST(ModelFlops, OfTiedEmbeddingsStillCountTheHeadOnce) {
  TransformerShape tied = llama2_7b;
  tied.tied_embeddings = true;
  EXPECT_EQ(parameters(llama2_7b) - parameters(tied), 32000 * 4096);
  EXPECT_EQ(model_flops(tied, 1, 2048, FlopsConvention::causal_halved).per_step,
            model_flops(llama2_7b, 1, 2048, FlopsConvention::causal_halved).per_step);
}

}  // namespace
}  // namespace stepscope

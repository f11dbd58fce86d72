// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/model_flops.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_json.h"

namespace stepscope {
namespace {

Transformer llama2_7b() { return *find_model("llama-2-7b"); }
Transformer llama3_8b() { return *find_model("llama-3-8b"); }

double relative(const Transformer& shape, std::int64_t sequence, FlopsConvention convention) {
  return model_flops(shape, 1, sequence, convention).per_step.value /
         model_flops(shape, 1, sequence, FlopsConvention::causal_halved).per_step.value;
}

TEST(ModelFlops, DifferByConventionAsPublishedFiguresDo) {
  EXPECT_NEAR(relative(llama2_7b(), 2048, FlopsConvention::six_n), 0.980, 0.0005);
  EXPECT_NEAR(relative(llama2_7b(), 2048, FlopsConvention::palm), 1.058, 0.0005);
  EXPECT_NEAR(relative(llama2_7b(), 2048, FlopsConvention::torchtitan), 1.039, 0.0005);
  EXPECT_NEAR(relative(llama3_8b(), 8192, FlopsConvention::six_n), 0.936, 0.0005);
  EXPECT_NEAR(relative(llama3_8b(), 8192, FlopsConvention::palm), 1.186, 0.0005);
  EXPECT_NEAR(relative(llama3_8b(), 8192, FlopsConvention::torchtitan), 1.125, 0.0005);
  EXPECT_NEAR(relative(llama3_8b(), 131072, FlopsConvention::six_n), 0.325, 0.0005);
  EXPECT_NEAR(relative(llama3_8b(), 131072, FlopsConvention::palm), 1.717, 0.0005);
  EXPECT_NEAR(relative(llama3_8b(), 131072, FlopsConvention::torchtitan), 1.696, 0.0005);
}

TEST(ModelFlops, GrowWithTheTokensAndNameTheirConvention) {
  const ModelFlops one = model_flops(llama2_7b(), 1, 2048, FlopsConvention::palm);
  const ModelFlops many = model_flops(llama2_7b(), 1000, 2048, FlopsConvention::palm);
  EXPECT_DOUBLE_EQ(many.per_step.value, 1000 * one.per_step.value);
  EXPECT_EQ(many.convention, "PaLM");
}

TEST(ModelFlops, OfTiedEmbeddingsStillCountTheHeadOnce) {
  Transformer tied = llama2_7b();
  tied.tied_embeddings = true;
  EXPECT_EQ(model_flops(tied, 1, 2048, FlopsConvention::causal_halved).per_step,
            model_flops(llama2_7b(), 1, 2048, FlopsConvention::causal_halved).per_step);
}

double halved(const Transformer& m, std::int64_t tokens, std::int64_t sequence) {
  return model_flops(m, tokens, sequence, FlopsConvention::causal_halved).per_step.value;
}

// Korthikanti et al. (arXiv 2205.05198), equation 3, counts attention in full and tied logits:
// 72 B L s h^2 (1 + s / 6h + V / 12 h L).
TEST(ModelFlops, OfAFullMaskAreKorthikantisFormula) {
  Transformer gpt = *find_model("megatron-22b");
  gpt.causal = false;
  const double b = 4, l = 48, s = 2048, h = 6144, v = 51200;
  EXPECT_DOUBLE_EQ(halved(gpt, 4 * 2048, 2048),
                   72 * b * l * s * h * h * (1 + s / (6 * h) + v / (12 * h * l)));
  EXPECT_EQ(model_flops(gpt, 2048, 2048, FlopsConvention::causal_halved).convention,
            "no causal mask");
  EXPECT_EQ(model_flops(gpt, 2048, 2048, FlopsConvention::palm).convention, "PaLM");
}

TEST(ModelFlops, SeeWhatAWindowLeaves) {
  Transformer m = *find_model("mistral-7b");
  EXPECT_DOUBLE_EQ(attention_pairs(m, 0, 4096), 4096.0 * 4096 / 2);
  EXPECT_DOUBLE_EQ(attention_pairs(m, 0, 32768), 4096.0 * 32768 - 4096.0 * 4096 / 2);
  const double windowed = halved(m, 32768, 32768);
  m.window_every = 2;
  EXPECT_DOUBLE_EQ(attention_pairs(m, 1, 32768), 32768.0 * 32768 / 2);
  EXPECT_GT(halved(m, 32768, 32768), windowed);
  m.causal = false;
  m.window.reset();
  EXPECT_DOUBLE_EQ(attention_pairs(m, 0, 1024), 1024.0 * 1024);
}

TEST(ModelFlops, OfAMixtureAreThoseOfTheExpertsUsed) {
  const Transformer m = *find_model("mixtral-8x7b");
  Transformer dense = m;
  dense.experts.reset();
  dense.feed_forward = 2 * 14336;
  EXPECT_DOUBLE_EQ(halved(m, 1, 1024) - halved(dense, 1, 1024), 6.0 * 32 * 4096 * 8)
      << "the router is all that two of eight experts add to one of twice the width";
}

// Megatron-LM's expression for latent attention, with the sizes of DeepSeek-V3.
TEST(ModelFlops, OfLatentAttentionAreTheFactorsThatATokenPasses) {
  Transformer m = *find_model("deepseek-v3");
  m.experts.reset();
  m.layers = 1;
  m.head = false;
  const double h = 7168, a = 128, s = 4096;
  const double attention = 1536 * (h + a * 192) + 512 * (h + a * 256) + h * 64 + a * 128 * h;
  EXPECT_DOUBLE_EQ(halved(m, 1, 4096),
                   6 * (attention + 3 * h * 18432) + 6 * a * (192 + 128) * s / 2);
}

TEST(ModelFlops, OfVisionCountPatchesAndOneHeadAnImage) {
  const Transformer m = *find_model("vit-l-16");
  const double h = 1024, s = 197, images = 10;
  const double layer = 12 * h * h * s + 2 * h * s * s;
  EXPECT_DOUBLE_EQ(halved(m, 1970, 197),
                   6 * images * (24 * layer + 196 * 16 * 16 * 3 * h + h * 1000));
}

TEST(ModelFlops, OfBertCountTheTransformBeforeTheHead) {
  const Transformer m = *find_model("bert-large");
  const double h = 1024, s = 512;
  EXPECT_DOUBLE_EQ(halved(m, 512, 512),
                   6 * (24 * (12 * h * h * s + 2 * h * s * s) + s * h * h + s * h * 30522));
}

}  // namespace
}  // namespace stepscope

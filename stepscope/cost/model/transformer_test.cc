// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/transformer.h"

#include <gtest/gtest.h>

#include "stepscope/cost/model/model_json.h"

namespace stepscope {
namespace {

template <class Change>
std::string after(const std::string& name, Change change) {
  Transformer m = *find_model(name);
  change(m);
  const Result<Done> checked = check_model(m);
  return checked ? "" : checked.error().message();
}

TEST(Transformer, KnowsWhichLayersHaveExpertsAndWindows) {
  Transformer m;
  m.experts = Experts{.count = 4, .top_k = 1, .first_dense_layers = 1, .every = 2};
  EXPECT_FALSE(has_experts(m, 0));
  EXPECT_FALSE(has_experts(m, 1));
  EXPECT_TRUE(has_experts(m, 2));
  EXPECT_FALSE(has_experts(m, 3));
  EXPECT_TRUE(has_experts(m, 4));
  m.experts->dense_layers = {2, 3};
  EXPECT_FALSE(has_experts(m, 2));
  EXPECT_TRUE(has_experts(m, 4));
  EXPECT_NE(layer_kind(m, 0).mixer, Mixer::window);
  m.window = 128;
  m.window_every = 2;
  EXPECT_EQ(layer_kind(m, 0).mixer, Mixer::window);
  EXPECT_NE(layer_kind(m, 1).mixer, Mixer::window);
}

TEST(CheckModel, TakesTheCatalogue) {
  for (const Transformer& m : model_catalogue()) EXPECT_TRUE(check_model(m)) << m.name;
}

TEST(CheckModel, RefusesSizesOutOfRange) {
  EXPECT_EQ(after("llama-3-8b", [](Transformer& m) { m.layers = 0; }),
            "layers = 0 is out of range; it must be 1 to 2000");
  EXPECT_NE(after("llama-3-8b", [](Transformer& m) { m.hidden = -1; }).find("hidden = -1"),
            std::string::npos);
  EXPECT_NE(after("llama-3-8b", [](Transformer& m) { m.kv_heads = 64; }).find("kv_heads = 64"),
            std::string::npos);
  EXPECT_EQ(after("llama-3-8b", [](Transformer& m) { m.kv_heads = 5; }),
            "kv_heads = 5 does not divide heads = 32; kv_heads must divide them");
  EXPECT_NE(after("llama-3-8b", [](Transformer& m) { m.feed_forward = 0; }).find("feed_forward"),
            std::string::npos);
  EXPECT_NE(after("gpt2", [](Transformer& m) { m.dropout = 1; }).find("dropout"),
            std::string::npos);
  EXPECT_NE(after("gpt2", [](Transformer& m) { m.max_positions = 0; }).find("max_positions"),
            std::string::npos);
  EXPECT_EQ(after("mixtral-8x7b", [](Transformer& m) { m.feed_forward = 0; }), "")
      << "every layer has experts";
}

TEST(CheckModel, RefusesSizesWhoseCountWouldNotFit) {
  EXPECT_NE(after("mixtral-8x7b",
                  [](Transformer& m) {
                    m.hidden = m.experts->feed_forward = 10'000'000;
                    m.experts->count = 1'000'000;
                    m.layers = 2'000;
                  })
                .find("1e16"),
            std::string::npos);
}

TEST(CheckModel, RefusesExpertsThatContradict) {
  EXPECT_NE(after("mixtral-8x7b", [](Transformer& m) { m.experts->top_k = 9; }).find("top_k = 9"),
            std::string::npos);
  EXPECT_NE(after("mixtral-8x7b", [](Transformer& m) { m.experts->every = 0; }).find("every = 0"),
            std::string::npos);
  EXPECT_NE(after("mixtral-8x7b", [](Transformer& m) { m.experts->capacity_factor = 0; })
                .find("capacity_factor"),
            std::string::npos);
}

TEST(CheckModel, RefusesLatentAttentionThatContradicts) {
  EXPECT_NE(after("deepseek-v3", [](Transformer& m) { m.head_size = 128; }).find("must be 192"),
            std::string::npos);
  EXPECT_NE(after("deepseek-v3", [](Transformer& m) { m.kv_heads = 1; }).find("kv_heads = 1"),
            std::string::npos);
  EXPECT_NE(after("deepseek-v3", [](Transformer& m) { m.latent->kv_rank = 0; }).find("kv_rank"),
            std::string::npos);
}

TEST(CheckModel, RefusesImagesThatPatchesDoNotFill) {
  EXPECT_NE(after("vit-l-16", [](Transformer& m) { m.patches->patch = 15; }).find("do not fill"),
            std::string::npos);
  EXPECT_NE(after("vit-l-16", [](Transformer& m) { m.max_positions = 196; }).find("must be 197"),
            std::string::npos);
  EXPECT_NE(after("vit-l-16", [](Transformer& m) { m.classes = 0; }).find("a head needs"),
            std::string::npos);
  EXPECT_NE(after("bert-large", [](Transformer& m) { m.window = 128; }).find("causal"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope

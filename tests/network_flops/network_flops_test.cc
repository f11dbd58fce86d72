// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/nn/network/network.h"
#include "engine/nn/network/presets.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

// The same network as a Transformer of cost/.
Transformer transformer(const nn::NetworkConfig& c) {
  Transformer t;
  t.layers = c.layers;
  t.hidden = c.channels;
  t.heads = c.heads;
  t.kv_heads = c.kv_heads;
  t.head_size = nn::head_size(c);
  t.feed_forward = c.hidden;
  t.vocabulary = c.vocab;
  t.tied_embeddings = c.tied;
  t.max_positions = c.context;
  if (c.family == nn::NetworkFamily::llama) {
    t.gated = true;
    t.activation = Activation::silu;
    t.norm = Norm::rms_norm;
    t.norm_bias = false;
    t.positions = Positions::rotary;
    t.max_positions = 0;
    t.qkv_bias = t.attention_output_bias = t.feed_forward_bias = false;
  }
  return t;
}

TEST(NetworkFlops, AreThoseOfTheCostModel) {
  for (const nn::NamedPreset& preset : nn::network_presets()) {
    const Transformer t = transformer(preset.config);
    ASSERT_TRUE(check_model(t)) << preset.name;
    EXPECT_EQ(parameter_count(t).total, nn::parameter_count(preset.config)) << preset.name;
    const auto network = nn::Network::create(preset.config, ElementType::f32, 3, 256, {});
    ASSERT_TRUE(network) << preset.name;
    for (const std::int64_t tokens : {1, 100, 256}) {
      const double expected =
          model_flops(t, 3 * tokens, tokens, FlopsConvention::causal_halved).per_step.value;
      EXPECT_DOUBLE_EQ(network->model_flops(3, tokens).value, expected)
          << preset.name << " " << tokens;
    }
  }
}

}  // namespace
}  // namespace stepscope

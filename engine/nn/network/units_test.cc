// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/units.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/nn/network/block_tensors.h"
#include "engine/nn/network/presets.h"

namespace stepscope::nn {
namespace {

// The counts that Hugging Face states for the published checkpoints.
TEST(Units, CountTheParametersOfPublishedModels) {
  const std::map<std::string_view, std::int64_t> published = {{"gpt2-124m", 124439808},
                                                              {"gpt2-355m", 354823168},
                                                              {"gpt2-774m", 774030080},
                                                              {"gpt2-1558m", 1557611200},
                                                              {"llama-3.2-1b", 1235814400}};
  for (const auto& [name, count] : published) {
    EXPECT_EQ(parameter_count(network_preset(name).value()), count) << name;
  }
}

TEST(Units, AreContiguousAndNamedOnce) {
  for (const NamedPreset& preset : network_presets()) {
    ASSERT_TRUE(check_network(preset.config)) << preset.name;
    const std::vector<Unit> units = network_units(preset.config);
    EXPECT_EQ(units.size(),
              static_cast<std::size_t>(preset.config.layers) + (preset.config.tied ? 1 : 2));
    std::set<std::string> names;
    for (const Unit& unit : units) {
      std::int64_t next = 0;
      for (const Parameter& p : unit.parameters) {
        EXPECT_EQ(p.offset, next) << p.name;
        next += p.count;
        EXPECT_TRUE(names.insert(p.name).second) << p.name;
        EXPECT_EQ(p.decay, p.shape.size() == 2) << p.name;
      }
      EXPECT_EQ(unit.count, next);
    }
  }
}

// The passes look for each tensor at its place in the unit.
TEST(Units, LieWherePassesReadThem) {
  NetworkConfig gpt2 = network_preset("gpt2-tiny").value();
  const auto offset = [](const Unit& unit, std::string_view name) {
    for (const Parameter& p : unit.parameters) {
      if (p.name == name) return p.offset;
    }
    ADD_FAILURE() << name;
    return std::int64_t{-1};
  };
  std::vector<float> memory(static_cast<std::size_t>(network_units(gpt2)[1].count));
  const float* begin = memory.data();
  {
    const Unit block = network_units(gpt2)[1];
    const auto t = block_tensors(gpt2, begin);
    EXPECT_EQ(t.norm1.bias - begin, offset(block, "transformer.h.0.ln_1.bias"));
    EXPECT_EQ(t.qkv.bias - begin, offset(block, "transformer.h.0.attn.c_attn.bias"));
    EXPECT_EQ(t.proj.weight - begin, offset(block, "transformer.h.0.attn.c_proj.weight"));
    EXPECT_EQ(t.up.weight - begin, offset(block, "transformer.h.0.mlp.c_fc.weight"));
    EXPECT_EQ(t.down.bias - begin + gpt2.channels, block.count);
  }
  const NetworkConfig llama = network_preset("llama-tiny").value();
  const std::vector<Unit> units = network_units(llama);
  memory.resize(static_cast<std::size_t>(units[1].count));
  begin = memory.data();
  const auto t = block_tensors(llama, begin);
  EXPECT_EQ(t.norm1.bias, nullptr);
  EXPECT_EQ(t.qkv.weight - begin, offset(units[1], "model.layers.0.self_attn.q_proj.weight"));
  EXPECT_EQ(t.norm2.weight - begin,
            offset(units[1], "model.layers.0.post_attention_layernorm.weight"));
  EXPECT_EQ(t.up.weight - begin, offset(units[1], "model.layers.0.mlp.gate_proj.weight"));
  EXPECT_EQ(t.down.weight - begin, offset(units[1], "model.layers.0.mlp.down_proj.weight"));
  const auto head = head_tensors(llama, begin);
  EXPECT_EQ(head.head - begin, offset(units.back(), "lm_head.weight"));
  gpt2.tied = false;
  EXPECT_EQ(head_tensors(gpt2, begin).norm.weight, begin);
}

TEST(Units, RefuseSizesThatFitNoNetwork) {
  const NetworkConfig good = network_preset("gpt2-tiny").value();
  const auto refused = [&](auto change) {
    NetworkConfig c = good;
    change(c);
    return !check_network(c);
  };
  EXPECT_TRUE(refused([](NetworkConfig& c) { c.layers = 0; }));
  EXPECT_TRUE(refused([](NetworkConfig& c) { c.heads = 3; }));
  EXPECT_TRUE(refused([](NetworkConfig& c) { c.kv_heads = 2; }));
  EXPECT_TRUE(refused([](NetworkConfig& c) { c.padded_vocab = c.vocab - 1; }));
  EXPECT_TRUE(refused([](NetworkConfig& c) { c.dropout = 1; }));
  EXPECT_TRUE(refused([](NetworkConfig& c) { c.hidden = std::int64_t{1} << 40; }));
  NetworkConfig c = good;
  c.heads = 3;
  EXPECT_EQ(check_network(c).error().message(),
            "network: channels 256 and heads 3; channels must be heads times an even head size");
  EXPECT_FALSE(network_preset("gpt3"));
}

}  // namespace
}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/units.h"

#include <cmath>
#include <utility>

namespace stepscope::nn {
namespace {

constexpr float weight_std = 0.02F;  // GPT-2 (Radford et al. 2019)
constexpr float ones = -1;

void append(Unit& unit, Parameter parameter) {
  parameter.offset = unit.count;
  parameter.count = 1;
  for (const std::int64_t n : parameter.shape) parameter.count *= n;
  unit.count += parameter.count;
  unit.parameters.push_back(std::move(parameter));
}

void append_vector(Unit& unit, std::string name, std::int64_t size, float init) {
  append(unit, {.name = std::move(name), .shape = {size}, .init_std = init});
}

void append_norm(Unit& unit, const NetworkConfig& c, const std::string& name) {
  append_vector(unit, name + ".weight", c.channels, ones);
  if (c.family == NetworkFamily::gpt2) append_vector(unit, name + ".bias", c.channels, 0);
}

void append_table(Unit& unit, const NetworkConfig& c, std::string name) {
  append(unit, {.name = std::move(name),
                .shape = {c.padded_vocab, c.channels},
                .decay = true,
                .init_std = weight_std,
                .pad_rows = c.padded_vocab - c.vocab});
}

// Weights that add to the residual stream start smaller by the number of such additions (GPT-2).
float residual_std(const NetworkConfig& c) {
  return weight_std / std::sqrt(2 * static_cast<float>(c.layers));
}

void append_conv1d(Unit& unit, const std::string& name, std::int64_t out, std::int64_t in,
                   float std) {
  append(unit, {.name = name + ".weight",
                .shape = {out, in},
                .decay = true,
                .init_std = std,
                .transposed_in_file = true});
  append_vector(unit, name + ".bias", out, 0);
}

void append_linear(Unit& unit, std::string name, std::int64_t out, std::int64_t in, float std) {
  append(unit, {.name = std::move(name), .shape = {out, in}, .decay = true, .init_std = std});
}

Unit gpt2_block(const NetworkConfig& c, const std::string& layer) {
  Unit unit{.name = "block " + layer};
  const std::string prefix = "transformer.h." + layer;
  append_norm(unit, c, prefix + ".ln_1");
  append_conv1d(unit, prefix + ".attn.c_attn", qkv_width(c), c.channels, weight_std);
  append_conv1d(unit, prefix + ".attn.c_proj", c.channels, c.channels, residual_std(c));
  append_norm(unit, c, prefix + ".ln_2");
  append_conv1d(unit, prefix + ".mlp.c_fc", c.hidden, c.channels, weight_std);
  append_conv1d(unit, prefix + ".mlp.c_proj", c.channels, c.hidden, residual_std(c));
  return unit;
}

Unit llama_block(const NetworkConfig& c, const std::string& layer) {
  Unit unit{.name = "block " + layer};
  const std::string prefix = "model.layers." + layer;
  const std::int64_t kv = c.kv_heads * head_size(c);
  append_norm(unit, c, prefix + ".input_layernorm");
  append_linear(unit, prefix + ".self_attn.q_proj.weight", c.channels, c.channels, weight_std);
  append_linear(unit, prefix + ".self_attn.k_proj.weight", kv, c.channels, weight_std);
  append_linear(unit, prefix + ".self_attn.v_proj.weight", kv, c.channels, weight_std);
  append_linear(unit, prefix + ".self_attn.o_proj.weight", c.channels, c.channels, residual_std(c));
  append_norm(unit, c, prefix + ".post_attention_layernorm");
  append_linear(unit, prefix + ".mlp.gate_proj.weight", c.hidden, c.channels, weight_std);
  append_linear(unit, prefix + ".mlp.up_proj.weight", c.hidden, c.channels, weight_std);
  append_linear(unit, prefix + ".mlp.down_proj.weight", c.channels, c.hidden, residual_std(c));
  return unit;
}

Unit embed_unit(const NetworkConfig& c) {
  Unit unit{.name = c.tied ? "embed_head" : "embed"};
  const bool gpt2 = c.family == NetworkFamily::gpt2;
  append_table(unit, c, gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight");
  if (gpt2) {
    append(unit, {.name = "transformer.wpe.weight",
                  .shape = {c.context, c.channels},
                  .decay = true,
                  .init_std = weight_std});
  }
  return unit;
}

void append_head(Unit& unit, const NetworkConfig& c) {
  append_norm(unit, c, c.family == NetworkFamily::gpt2 ? "transformer.ln_f" : "model.norm");
  if (!c.tied) append_table(unit, c, "lm_head.weight");
}

}  // namespace

std::vector<Unit> network_units(const NetworkConfig& c) {
  std::vector<Unit> units;
  units.push_back(embed_unit(c));
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string number = std::to_string(layer);
    units.push_back(c.family == NetworkFamily::gpt2 ? gpt2_block(c, number)
                                                    : llama_block(c, number));
  }
  if (!c.tied) units.push_back({.name = "head"});
  append_head(units[head_unit(c)], c);
  return units;
}

std::size_t head_unit(const NetworkConfig& c) {
  return c.tied ? 0 : static_cast<std::size_t>(c.layers) + 1;
}

std::int64_t parameter_count(const NetworkConfig& config) {
  std::int64_t sum = 0;
  for (const Unit& unit : network_units(config)) {
    for (const Parameter& p : unit.parameters) {
      sum += p.count - (p.pad_rows > 0 ? p.pad_rows * (p.count / p.shape.front()) : 0);
    }
  }
  return sum;
}

}  // namespace stepscope::nn

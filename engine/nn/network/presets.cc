// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/presets.h"

#include <algorithm>
#include <array>

namespace stepscope::nn {
namespace {

// A vocabulary is padded to a multiple of 128 rows: whole cache lines and tiles for every element
// type.
constexpr std::int64_t padded(std::int64_t vocab) { return (vocab + 127) / 128 * 128; }

constexpr NetworkConfig gpt2(std::int64_t layers, std::int64_t heads, std::int64_t channels,
                             std::int64_t vocab = 50257, std::int64_t context = 1024) {
  return {.family = NetworkFamily::gpt2,
          .layers = layers,
          .heads = heads,
          .kv_heads = heads,
          .channels = channels,
          .hidden = 4 * channels,
          .vocab = vocab,
          .padded_vocab = padded(vocab),
          .context = context};
}

struct Attention {
  std::int64_t heads;
  std::int64_t kv_heads;
};

constexpr NetworkConfig llama(std::int64_t layers, Attention attention, std::int64_t channels,
                              std::int64_t hidden, std::int64_t vocab, std::int64_t context) {
  return {.family = NetworkFamily::llama,
          .layers = layers,
          .heads = attention.heads,
          .kv_heads = attention.kv_heads,
          .channels = channels,
          .hidden = hidden,
          .vocab = vocab,
          .padded_vocab = padded(vocab),
          .context = context,
          .tied = false};
}

constexpr NetworkConfig llama_3_2_1b() {
  NetworkConfig c = llama(16, {32, 8}, 2048, 8192, 128256, 8192);
  c.tied = true;
  c.rope_theta = 500000;
  return c;
}

constexpr std::array<NamedPreset, 10> presets = {{
    {"gpt2-tiny", gpt2(4, 4, 256, 256, 256)},
    {"gpt2-124m", gpt2(12, 12, 768)},
    {"gpt2-355m", gpt2(24, 16, 1024)},
    {"gpt2-774m", gpt2(36, 20, 1280)},
    {"gpt2-1558m", gpt2(48, 25, 1600)},
    {"llama-tiny", llama(4, {8, 2}, 256, 704, 256, 256)},
    {"llama-60m", llama(8, {8, 8}, 512, 1376, 32000, 1024)},
    {"llama-130m", llama(12, {12, 12}, 768, 2048, 32000, 1024)},
    {"llama-350m", llama(24, {16, 16}, 1024, 2736, 32000, 1024)},
    {"llama-3.2-1b", llama_3_2_1b()},
}};

}  // namespace

std::span<const NamedPreset> network_presets() { return presets; }

std::optional<NetworkConfig> network_preset(std::string_view name) {
  const auto* found = std::ranges::find(presets, name, &NamedPreset::name);
  if (found == presets.end()) return std::nullopt;
  return found->config;
}

}  // namespace stepscope::nn

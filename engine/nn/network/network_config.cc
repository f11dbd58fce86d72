// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/network_config.h"

#include <array>
#include <string>
#include <string_view>

namespace stepscope::nn {
namespace {

Error wrong(const std::string& what, std::string hint) {
  return {.what = "network: " + what, .hint = std::move(hint)};
}

struct Size {
  std::string_view name;
  std::int64_t value;
};

std::string text(Size s) { return std::string{s.name} + " " + std::to_string(s.value); }

}  // namespace

Result<Done> check_network(const NetworkConfig& c) {
  constexpr std::int64_t largest = 1 << 19;  // layers * channels * hidden * 8 fits 63 bits
  const std::array<Size, 8> sizes = {{{"layers", c.layers},
                                      {"heads", c.heads},
                                      {"kv_heads", c.kv_heads},
                                      {"channels", c.channels},
                                      {"hidden", c.hidden},
                                      {"vocab", c.vocab},
                                      {"padded_vocab", c.padded_vocab},
                                      {"context", c.context}}};
  for (const Size& s : sizes) {
    if (s.value < 1 || s.value > largest) {
      return wrong(text(s), "a size lies between 1 and " + std::to_string(largest));
    }
  }
  if (c.channels % c.heads != 0 || head_size(c) % 2 != 0) {
    return wrong(text(sizes[3]) + " and " + text(sizes[1]),
                 "channels must be heads times an even head size");
  }
  if (c.heads % c.kv_heads != 0) {
    return wrong(text(sizes[1]) + " and " + text(sizes[2]), "kv_heads must divide heads");
  }
  if (c.family == NetworkFamily::gpt2 && c.kv_heads != c.heads) {
    return wrong(text(sizes[1]) + " and " + text(sizes[2]),
                 "GPT-2 has as many key-value heads as heads");
  }
  if (c.padded_vocab < c.vocab) {
    return wrong(text(sizes[6]) + " below " + text(sizes[5]), "pad the vocabulary upwards");
  }
  if (!(c.dropout >= 0 && c.dropout < 1)) {
    return wrong("dropout " + std::to_string(c.dropout), "a probability below 1");
  }
  if (!(c.norm_eps > 0 && c.norm_eps < 1)) {
    return wrong("norm_eps " + std::to_string(c.norm_eps), "a small positive number such as 1e-5");
  }
  if (c.family == NetworkFamily::llama && !(c.rope_theta > 1)) {
    return wrong("rope_theta " + std::to_string(c.rope_theta), "10000 is usual");
  }
  return Done{};
}

}  // namespace stepscope::nn

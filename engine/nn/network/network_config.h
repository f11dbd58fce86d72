// SPDX-License-Identifier: Apache-2.0
// The shape of a GPT-2 or Llama style decoder. Sizes count elements of the whole model.
#pragma once

#include <cstdint>

#include "stepscope/base/result.h"

namespace stepscope::nn {

// gpt2: LayerNorm with bias, GELU (tanh), learned positions, biases (Radford et al. 2019).
// llama: RMSNorm, SwiGLU, rotary positions, grouped-query attention, no bias (Touvron et al. 2023).
enum class NetworkFamily : std::uint8_t { gpt2, llama };

struct NetworkConfig {
  NetworkFamily family = NetworkFamily::gpt2;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      // divides heads; gpt2: = heads
  std::int64_t channels = 0;      // of the residual stream; heads * an even head size
  std::int64_t hidden = 0;        // of the feed-forward part
  std::int64_t vocab = 0;         // real tokens
  std::int64_t padded_vocab = 0;  // rows of the token table; rows beyond vocab are unused
  std::int64_t context = 0;       // longest sequence; gpt2: rows of the position table
  bool tied = true;               // the head multiplies with the token table
  float dropout = 0;  // on the embeddings and on both residual branches, not on attention's weights
  float norm_eps = 1e-5F;
  float rope_theta = 10000;  // llama

  bool operator==(const NetworkConfig&) const = default;
};

[[nodiscard]] constexpr std::int64_t head_size(const NetworkConfig& c) {
  return c.channels / c.heads;
}
// The columns of the fused product that gives queries, keys and values.
[[nodiscard]] constexpr std::int64_t qkv_width(const NetworkConfig& c) {
  return (c.heads + 2 * c.kv_heads) * head_size(c);
}
// The columns of the first feed-forward product. gate and up lie side by side.
[[nodiscard]] constexpr std::int64_t feed_forward_width(const NetworkConfig& c) {
  return c.family == NetworkFamily::llama ? 2 * c.hidden : c.hidden;
}

// The error names invalid sizes (not positive, not divisible, out of range) and their numbers. The
// parameter count of a valid network fits 64 bits.
[[nodiscard]] Result<Done> check_network(const NetworkConfig& config);

}  // namespace stepscope::nn

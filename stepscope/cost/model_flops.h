// SPDX-License-Identifier: Apache-2.0
// FLOPs that a dense decoder transformer asks for, forward and backward, without recompute, by the
// conventions in use. One and the same run has another MFU in each of them (docs/mfu.md), so a
// figure always names its own. T = tokens, s = sequence, L layers, h hidden, a heads and g
// key-value heads of size d, f feed-forward, V vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct TransformerShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;
  std::int64_t feed_forward_matrices = 3;  // 3 with a gate (SwiGLU), 2 without
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;
};

enum class FlopsConvention : std::uint8_t {
  causal_halved,  // Megatron: matmuls and logits, and the half of attention that a causal mask
                  // leaves
  six_n,          // 6 N T: all parameters, no attention
  palm,           // PaLM appendix B: 6 N T + 12 L a d s T
  torchtitan,     // 6 (N - input embedding) T + 12 L a d s T
};
inline constexpr std::size_t flops_convention_count = 4;
inline constexpr std::array<std::string_view, flops_convention_count> flops_convention_names = {
    "causal attention halved", "6N", "PaLM", "torchtitan"};
static_assert(flops_convention_names[static_cast<std::size_t>(FlopsConvention::torchtitan)] ==
              "torchtitan");

// FLOPs of one step of the whole job and how they were counted.
struct ModelFlops {
  std::string convention;
  Flops per_step;
};

// Weight matrices without norms and biases, which are less than 0.01 % of a model worth training on
// several devices.
[[nodiscard]] std::int64_t parameters(const TransformerShape& shape);

// Of a global batch of `tokens` in sequences of `sequence`.
[[nodiscard]] ModelFlops model_flops(const TransformerShape& shape, std::int64_t tokens,
                                     std::int64_t sequence, FlopsConvention convention);

}  // namespace stepscope

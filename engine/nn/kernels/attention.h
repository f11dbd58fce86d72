// SPDX-License-Identifier: Apache-2.0
// Causal self-attention in tiles of 64 queries and 64 keys with an online softmax (Milakov and
// Gimelshein 2018; Dao et al. 2022): out = softmax(q k^T / sqrt(head_dim)) v. Memory grows with
// tokens * head_dim; a [tokens, tokens] matrix never exists. T = float or Bf16; computed in f32.
//
// qkv: [batch, tokens, (heads + 2 kv_heads) head_dim]. A row holds the q heads, then the k heads,
// then the v heads. Query head h reads k and v head h / (heads / kv_heads) (grouped queries).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nn {

struct AttentionShape {
  std::int64_t batch = 0, tokens = 0;
  std::int64_t heads = 0, kv_heads = 0;  // heads is a multiple of kv_heads
  std::int64_t head_dim = 0;
};

// The number of scratch floats that forward and backward need.
[[nodiscard]] std::size_t attention_scratch(const AttentionShape& shape);

// out: [batch, tokens, heads head_dim]. logsumexp: [batch, heads, tokens], over a query's scaled
// scores; the backward pass needs it.
template <class T>
void attention_forward(const AttentionShape& shape, const T* qkv, T* out, float* logsumexp,
                       float* scratch);

// dqkv is overwritten. Probabilities are recomputed tile by tile. The order of every sum is fixed.
// dqkv may not be qkv.
template <class T>
void attention_backward(const AttentionShape& shape, const T* qkv, const T* out,
                        const float* logsumexp, const T* dout, T* dqkv, float* scratch);

}  // namespace stepscope::nn

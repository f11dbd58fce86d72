// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/attention.h"

#include <limits>

#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/result.h"

namespace stepscope::nn {
namespace {

constexpr std::int64_t attention_tile = 64;  // queries, and keys

struct AttentionLayout {
  std::int64_t row;     // elements per row of qkv
  std::int64_t k, v;    // where its k heads and v heads begin
  std::int64_t group;   // query heads per k head
  std::int64_t padded;  // head_dim, rounded up to whole vectors of any instruction set
  std::int64_t keys;    // tokens, rounded up to whole tiles
  float scale;
};

AttentionLayout attention_layout(const AttentionShape& s) {
  return {.row = (s.heads + 2 * s.kv_heads) * s.head_dim,
          .k = s.heads * s.head_dim,
          .v = (s.heads + s.kv_heads) * s.head_dim,
          .group = s.heads / s.kv_heads,
          .padded = (s.head_dim + 15) / 16 * 16,
          .keys = (s.tokens + attention_tile - 1) / attention_tile * attention_tile,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.head_dim)))};
}

}  // namespace
}  // namespace stepscope::nn

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/attention.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

std::size_t attention_scratch(const AttentionShape& shape) {
  const AttentionLayout l = attention_layout(shape);
  return static_cast<std::size_t>(8 * l.keys * l.padded + attention_tile * l.padded +
                                  2 * attention_tile * attention_tile + l.keys);
}

template <class T>
void attention_forward(const AttentionShape& shape, const T* qkv, T* out, float* logsumexp,
                       float* scratch) {
  check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
        "attention: the query heads are no multiple of the key heads");
  STEPSCOPE_NN_CALL(forward, shape, qkv, out, logsumexp, scratch);
}

template <class T>
void attention_backward(const AttentionShape& shape, const T* qkv, const T* out,
                        const float* logsumexp, const T* dout, T* dqkv, float* scratch) {
  check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
        "attention: the query heads are no multiple of the key heads");
  STEPSCOPE_NN_CALL(backward, shape, qkv, out, logsumexp, dout, dqkv, scratch);
}

template void attention_forward(const AttentionShape&, const float*, float*, float*, float*);
template void attention_forward(const AttentionShape&, const Bf16*, Bf16*, float*, float*);
template void attention_backward(const AttentionShape&, const float*, const float*, const float*,
                                 const float*, float*, float*);
template void attention_backward(const AttentionShape&, const Bf16*, const Bf16*, const float*,
                                 const Bf16*, Bf16*, float*);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// Token and position embedding. tokens: [b, t], each in [0, vocab); wte: [vocab, c];
// wpe: [positions, c], position = index within t; out, dout: [b, t, c]. T = float or Bf16.
#pragma once

#include <cstdint>

namespace stepscope::nn {

// out = wte[token] + wpe[position]; wpe may be null.
template <class T>
void embedding_forward(std::int64_t b, std::int64_t t, std::int64_t c, const std::int32_t* tokens,
                       const T* wte, const T* wpe, T* out);

// dwte[v] (+)= the sum of dout over the places of token v, in the order of tokens, in f32, rounded
// once. dwpe[p] (+)= the sum over b. `vocab` and `positions` are the numbers of rows of dwte and
// dwpe. With `add`, only rows of tokens that occur are touched; without it, the other rows become
// zero. dwpe may be null. A thread keeps b * t 64-bit words from call to call, so only a larger
// batch allocates.
template <class T>
void embedding_backward(std::int64_t b, std::int64_t t, std::int64_t c, std::int64_t vocab,
                        std::int64_t positions, const std::int32_t* tokens, const T* dout, T* dwte,
                        T* dwpe, bool add);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/embedding.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/result.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/embedding.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T>
void embedding_forward(std::int64_t b, std::int64_t t, std::int64_t c, const std::int32_t* tokens,
                       const T* wte, const T* wpe, T* out) {
  STEPSCOPE_NN_CALL(embed, b, t, c, tokens, wte, wpe, out);
}

template <class T>
void embedding_backward(std::int64_t b, std::int64_t t, std::int64_t c, std::int64_t vocab,
                        std::int64_t positions, const std::int32_t* tokens, const T* dout, T* dwte,
                        T* dwpe, bool add) {
  check(dwpe == nullptr || t <= positions, "embedding: more tokens than positions");
  // (token << 32 | row), sorted by token, then by row.
  thread_local std::vector<std::uint64_t> order;
  order.resize(static_cast<std::size_t>(b * t));
  for (std::size_t row = 0; row < order.size(); ++row) {
    check(tokens[row] >= 0 && tokens[row] < vocab, "embedding: a token outside the vocabulary");
    order[row] = (static_cast<std::uint64_t>(tokens[row]) << 32U) | row;
  }
  std::ranges::sort(order);
  std::int64_t next = 0;  // first row of dwte not written yet
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    const auto token = static_cast<std::int64_t>(order[first] >> 32U);
    while (last < order.size() && static_cast<std::int64_t>(order[last] >> 32U) == token) ++last;
    if (!add) std::fill_n(dwte + next * c, (token - next) * c, T{});
    next = token + 1;
    const auto count = static_cast<std::int64_t>(last - first);
    STEPSCOPE_NN_CALL(sum_rows, c, order.data() + first, count, dout, dwte + token * c, add);
  }
  if (!add) std::fill_n(dwte + next * c, (vocab - next) * c, T{});
  if (dwpe == nullptr) return;
  STEPSCOPE_NN_CALL(sum_batch, b, t, c, dout, dwpe, add);
  if (!add) std::fill_n(dwpe + t * c, (positions - t) * c, T{});
}

template void embedding_forward(std::int64_t, std::int64_t, std::int64_t, const std::int32_t*,
                                const float*, const float*, float*);
template void embedding_forward(std::int64_t, std::int64_t, std::int64_t, const std::int32_t*,
                                const Bf16*, const Bf16*, Bf16*);
template void embedding_backward(std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, const std::int32_t*, const float*, float*, float*,
                                 bool);
template void embedding_backward(std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, const std::int32_t*, const Bf16*, Bf16*, Bf16*,
                                 bool);

}  // namespace stepscope::nn

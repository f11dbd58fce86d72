// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/cross_entropy.h"

#include <algorithm>
#include <type_traits>

#include "engine/nn/kernels/lanes.h"
#include "engine/nn/kernels/matmul.h"
#include "stepscope/base/result.h"

namespace stepscope::nn {
namespace {

struct LogSum {
  float highest, sum;
};

}  // namespace
}  // namespace stepscope::nn

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/cross_entropy.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {
namespace {

LogSum log_sum_of(std::int64_t n, float* x, bool keep) {
  return STEPSCOPE_NN_CALL(log_sum, n, x, keep);
}

// Returns the loss of one row. The gradient as T replaces the row's logits in place, from the row's
// start.
template <class T>
double row_loss(const HeadShape& s, std::int32_t target, bool gradient, float* logits) {
  T* out = reinterpret_cast<T*>(logits);
  if (target < 0) {
    if (gradient) std::fill_n(out, s.padded_vocab, T{});
    return 0.0;
  }
  check(target < s.vocab, "cross_entropy: a target outside the vocabulary");
  const double chosen = static_cast<double>(logits[target]);
  const LogSum l = log_sum_of(s.vocab, logits, gradient);
  const double loss =
      static_cast<double>(l.highest) + std::log(static_cast<double>(l.sum)) - chosen;
  if (!gradient) return loss;
  // Subtract one at the target before all values are divided by the sum.
  logits[target] -= l.sum;
  STEPSCOPE_NN_CALL(scale_row, s.vocab, s.padded_vocab, 1.0F / l.sum, logits, out);
  return loss;
}

}  // namespace

std::int64_t head_chunk_rows(const HeadShape& s) {
  const std::int64_t row_bytes = s.padded_vocab * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::max<std::int64_t>(16, head_chunk_bytes / row_bytes / 16 * 16);
  const std::int64_t chunks = std::max<std::int64_t>(1, (s.rows + most - 1) / most);
  return (s.rows + chunks - 1) / chunks;
}

std::size_t head_scratch(const HeadShape& s) {
  return static_cast<std::size_t>(head_chunk_rows(s) * s.padded_vocab);
}

template <class T>
double head_cross_entropy(const HeadShape& s, const T* x, const T* w, const std::int32_t* targets,
                          T* dx, T* dw, bool add, float* scratch) {
  check((dx == nullptr) == (dw == nullptr), "cross_entropy: dx and dw go together");
  const std::int64_t chunk = head_chunk_rows(s);
  // A row's gradient as T replaces its f32 logits in place, so the gradient's rows lie further
  // apart than their length in T.
  const std::int64_t stride = std::is_same_v<T, float> ? s.padded_vocab : 2 * s.padded_vocab;
  const T* dlogits = reinterpret_cast<const T*>(scratch);
  double loss = 0;
  for (std::int64_t first = 0; first < s.rows; first += chunk) {
    const std::int64_t rows = std::min(chunk, s.rows - first);
    const T* in = x + first * s.c;
    matmul_to_float<T>({rows, s.padded_vocab, s.c, s.c, s.c, s.padded_vocab, false, true}, in, w,
                       scratch);
    for (std::int64_t row = 0; row < rows; ++row) {
      loss += row_loss<T>(s, targets[first + row], dx != nullptr, scratch + row * s.padded_vocab);
    }
    if (dx == nullptr) continue;
    matmul<T>({rows, s.c, s.padded_vocab, stride, s.c, s.c, false, false}, dlogits, w,
              dx + first * s.c);
    matmul<T>({s.padded_vocab, s.c, rows, stride, s.c, s.c, true, false}, dlogits, in, dw, nullptr,
              add || first > 0);
  }
  return loss;
}

template double head_cross_entropy(const HeadShape&, const float*, const float*,
                                   const std::int32_t*, float*, float*, bool, float*);
template double head_cross_entropy(const HeadShape&, const Bf16*, const Bf16*, const std::int32_t*,
                                   Bf16*, Bf16*, bool, float*);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// The head of a language model in one pass over chunks of rows: logits = x w^T, softmax,
// cross-entropy, and the gradients of x and w. Logits exist for one chunk at a time (at most
// head_chunk_bytes, or 16 rows), never for all rows. T = float or Bf16; logits, softmax and loss
// are f32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nn {

// x: [rows, c]; w: [padded_vocab, c], rows from `vocab` on are padding: the softmax ignores their
// logits, and their gradient is zero.
struct HeadShape {
  std::int64_t rows = 0;
  std::int64_t vocab = 0, padded_vocab = 0;
  std::int64_t c = 0;
};

inline constexpr std::int64_t head_chunk_bytes = 64 * 1024 * 1024;

// The rows of one chunk, and the scratch floats that they need.
[[nodiscard]] std::int64_t head_chunk_rows(const HeadShape& shape);
[[nodiscard]] std::size_t head_scratch(const HeadShape& shape);

// targets: [rows], in [0, vocab). A row with target -1 does not count, and its gradient is zero.
// Returns the sum over counted rows of -log softmax(logits)[target], added in row order in double.
// The gradients are those of this sum. dx: [rows, c], overwritten. dw: [padded_vocab, c], added to
// if `add`, else overwritten. Both null: evaluation only.
template <class T>
double head_cross_entropy(const HeadShape& shape, const T* x, const T* w,
                          const std::int32_t* targets, T* dx, T* dw, bool add, float* scratch);

}  // namespace stepscope::nn

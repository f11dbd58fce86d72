// SPDX-License-Identifier: Apache-2.0
// The sizes of a matrix product (matmul.h).
#pragma once

#include <cstdint>

namespace stepscope::nn {

// C[m, n] (+)= op(A) op(B): op(A) is [m, k], op(B) is [k, n]. With transpose_a, A is stored as
// [k, m]; with transpose_b, B is stored as [n, k]. lda, ldb, ldc: elements from one stored row to
// the next.
struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool transpose_a = false, transpose_b = false;

  bool operator==(const MatmulShape&) const = default;
};

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// Matrix products in f32 vectors for the shapes of training, on one thread, at every level of
// isa(). Operands are packed into f32 panels that stay in the caches; bf16 operands are widened as
// they are packed. A tile of 4 x 8 (baseline), 6 x 16 (AVX2) or 8 x 48 (AVX-512) is accumulated in
// registers (the scheme of Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", TOMS 2008).
#pragma once

#include "engine/nn/kernels/matmul_shape.h"

namespace stepscope::nn {

// Same contract as matmul<T> (Out = T) and matmul_to_float<T> (Out = float).
// T = float or Bf16. An element of c is the sum over k in blocks of fixed size, in order,
// independent of the other sizes: a row's result does not depend on the other rows. All sums are
// f32; a bf16 result is rounded once. A thread keeps its packing buffers, and for bf16 results a
// buffer of up to 512 x n f32 sums.
template <class T, class Out>
void sgemm(const MatmulShape& shape, const T* a, const T* b, Out* c, const Out* bias, bool add);

}  // namespace stepscope::nn

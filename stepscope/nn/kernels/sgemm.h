// SPDX-License-Identifier: Apache-2.0
// f32 matrix products with AVX-512 for the shapes of training, on one thread. Operands are packed
// into panels that stay in the caches. A tile of 8 x 48 is accumulated in registers (the scheme of
// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 2008).
#pragma once

#include "stepscope/nn/kernels/matmul_shape.h"

namespace stepscope::nn {

// Whether this CPU has AVX-512 and STEPSCOPE_ISA allows it.
[[nodiscard]] bool sgemm_runs_here();

// Same contract as matmul<float>. An element of c is the sum over k in blocks of fixed size, in
// order, independent of the other sizes: a row's result does not depend on the other rows. A thread
// keeps its packing buffers from its first call.
void sgemm(const MatmulShape& shape, const float* a, const float* b, float* c, const float* bias,
           bool add);

}  // namespace stepscope::nn

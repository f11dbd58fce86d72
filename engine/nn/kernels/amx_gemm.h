// SPDX-License-Identifier: Apache-2.0
// bf16 matrix products with AMX tiles for the shapes of training, on one thread. The right tiles'
// operand is packed in the L2 cache. Left tiles are read where their lines lie if their values of k
// are contiguous, and packed 32 lines at a time otherwise. c = a b^T is computed as c^T = b a^T if
// b is larger than a: b is then read in place. Between the steps of the tiles, later operands and
// lines of c are fetched in the order of memory, and the sums of the block before are written.
// TDPBF16PS adds the product of a tile of 16 x 32 and one of 32 x 16 to f32 sums (Intel's
// "Instruction Set Extensions Programming Reference" defines its order and its rounding). It takes
// values below 2^-126 for zero.
#pragma once

#include "engine/nn/kernels/matmul_shape.h"
#include "stepscope/base/element.h"

namespace stepscope::nn {

// Whether this CPU has AMX tiles and bf16, the kernel lets this process use them, and STEPSCOPE_ISA
// is not set.
[[nodiscard]] bool amx_gemm_runs_here();

// Same contract as matmul<Bf16> and matmul_to_float<Bf16> (Out = float; no bias). An element of c
// is the f32 sum over k in order, independent of the other sizes: a row's result does not depend on
// the other rows. A thread keeps its packing buffers; they grow when a shape needs more.
template <class Out>
void amx_gemm(const MatmulShape& shape, const Bf16* a, const Bf16* b, Out* c, const Bf16* bias,
              bool add);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// Matrix products by oneDNN, one thread each. Only this file's source uses oneDNN. A build without
// it (STEPSCOPE_HAS_ONEDNN) has neither function.
//
// oneDNN's Debian build divides its work by OpenMP. During each call the calling thread limits
// OpenMP to one thread, so no other thread wakes or spins.
//
// When a thread first uses a shape, it creates and keeps the primitive. Later uses allocate nothing
// of that size. oneDNN itself allocates a small table of its arguments at each call (below 2 KB,
// freed on return).
//
// Where oneDNN has no bf16 product, both operands are widened into copies and multiplied in f32.
#pragma once

#include <string_view>

#include "engine/nn/kernels/matmul_shape.h"

namespace stepscope::nn {

// Same contract as matmul<T> (Out = T) and matmul_to_float<T> (Out = float). T = float or Bf16.
template <class T, class Out>
void onednn_matmul(const MatmulShape& shape, const T* a, const T* b, Out* c, const T* bias,
                   bool add);

// oneDNN's name of its implementation ("brg:avx512_core_bf16"), behind "widened+" where the
// operands are widened. Valid until this thread's next call.
template <class T>
[[nodiscard]] std::string_view onednn_implementation(const MatmulShape& shape);

}  // namespace stepscope::nn

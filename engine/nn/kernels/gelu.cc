// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/gelu.h"

#include "engine/nn/kernels/lanes.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/gelu.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T>
void gelu_forward(std::int64_t count, const T* x, T* y) {
  STEPSCOPE_NN_CALL(gelu_forward, count, x, y);
}

template <class T>
void gelu_backward(std::int64_t count, const T* x, const T* dy, T* dx) {
  STEPSCOPE_NN_CALL(gelu_backward, count, x, dy, dx);
}

template void gelu_forward(std::int64_t, const float*, float*);
template void gelu_forward(std::int64_t, const Bf16*, Bf16*);
template void gelu_backward(std::int64_t, const float*, const float*, float*);
template void gelu_backward(std::int64_t, const Bf16*, const Bf16*, Bf16*);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/swiglu.h"

#include "engine/nn/kernels/lanes.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/swiglu.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T>
void swiglu_forward(std::int64_t rows, std::int64_t hidden, const T* gate_up, T* y) {
  STEPSCOPE_NN_CALL(swiglu_forward, rows, hidden, gate_up, y);
}

template <class T>
void swiglu_backward(std::int64_t rows, std::int64_t hidden, const T* gate_up, const T* dy,
                     T* dgate_up) {
  STEPSCOPE_NN_CALL(swiglu_backward, rows, hidden, gate_up, dy, dgate_up);
}

template void swiglu_forward(std::int64_t, std::int64_t, const float*, float*);
template void swiglu_forward(std::int64_t, std::int64_t, const Bf16*, Bf16*);
template void swiglu_backward(std::int64_t, std::int64_t, const float*, const float*, float*);
template void swiglu_backward(std::int64_t, std::int64_t, const Bf16*, const Bf16*, Bf16*);

}  // namespace stepscope::nn

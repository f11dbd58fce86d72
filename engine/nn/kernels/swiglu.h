// SPDX-License-Identifier: Apache-2.0
// SwiGLU of Llama (Shazeer 2020): y = silu(gate) up, silu(x) = x sigmoid(x).
// gate_up: [rows, 2 hidden]; a row holds its gates, then its ups. y: [rows, hidden].
// T = float or Bf16; computed in f32, rounded once.
#pragma once

#include <cstdint>

namespace stepscope::nn {

template <class T>
void swiglu_forward(std::int64_t rows, std::int64_t hidden, const T* gate_up, T* y);
// dgate_up may be gate_up.
template <class T>
void swiglu_backward(std::int64_t rows, std::int64_t hidden, const T* gate_up, const T* dy,
                     T* dgate_up);

}  // namespace stepscope::nn

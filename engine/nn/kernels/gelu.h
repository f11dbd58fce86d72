// SPDX-License-Identifier: Apache-2.0
// The GELU of GPT-2 in its tanh form (Hendrycks and Gimpel 2016, "gelu_new" in Hugging Face):
//   gelu(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3);   here as x sigmoid(2u).
// T = float or Bf16; computed in f32, rounded once.
#pragma once

#include <cstdint>

namespace stepscope::nn {

// y[i] = gelu(x[i]); y may be x.
template <class T>
void gelu_forward(std::int64_t count, const T* x, T* y);
// dx[i] = dy[i] gelu'(x[i]); dx may be dy or x.
template <class T>
void gelu_backward(std::int64_t count, const T* x, const T* dy, T* dx);

}  // namespace stepscope::nn

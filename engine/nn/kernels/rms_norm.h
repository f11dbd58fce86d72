// SPDX-License-Identifier: Apache-2.0
// Root mean square normalisation (Zhang and Sennrich 2019) in Llama's form, fused with the residual
// addition before it:
//   sum = x + residual;   y = sum rstd weight,   rstd = 1 / sqrt(mean of squares + eps)
// over rows of c elements. T = float or Bf16; computed in f32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nn {

// If residual is null, sum must be x itself or null, and no sum is written. sum may be x or
// residual. rstd: [rows], needed by the backward pass.
template <class T>
void rms_norm_forward(std::int64_t rows, std::int64_t c, float eps, const T* x, const T* residual,
                      const T* weight, T* sum, T* y, float* rstd);

// The number of scratch floats that the backward pass needs.
[[nodiscard]] std::size_t rms_norm_scratch(std::int64_t c);

// dx_inout_add: [rows, c], the gradient of `sum` from its other uses; the norm's gradient is added.
// dweight: [c], summed over rows in row order; added to if `add`, else overwritten.
template <class T>
void rms_norm_backward(std::int64_t rows, std::int64_t c, const T* sum, const T* weight,
                       const float* rstd, const T* dy, T* dx_inout_add, T* dweight, bool add,
                       float* scratch);

}  // namespace stepscope::nn

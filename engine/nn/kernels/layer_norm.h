// SPDX-License-Identifier: Apache-2.0
// Layer normalisation (Ba et al. 2016), fused with the residual addition before it:
//   sum = x + residual;   y = (sum - mean) rstd weight + bias,   rstd = 1 / sqrt(variance + eps)
// over rows of c elements; mean and (biased) variance of a row. T = float or Bf16; computed in f32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nn {

// If residual is null, sum must be x itself or null, and no sum is written. sum may be x or
// residual. mean, rstd: [rows], needed by the backward pass.
template <class T>
void layer_norm_forward(std::int64_t rows, std::int64_t c, float eps, const T* x, const T* residual,
                        const T* weight, const T* bias, T* sum, T* y, float* mean, float* rstd);

// The number of scratch floats that the backward pass needs.
[[nodiscard]] std::size_t layer_norm_scratch(std::int64_t c);

// dx_inout_add: [rows, c], the gradient of `sum` from its other uses; the norm's gradient is added.
// dweight, dbias: [c], summed over rows in row order; added to if `add`, else overwritten.
template <class T>
void layer_norm_backward(std::int64_t rows, std::int64_t c, const T* sum, const T* weight,
                         const float* mean, const float* rstd, const T* dy, T* dx_inout_add,
                         T* dweight, T* dbias, bool add, float* scratch);

}  // namespace stepscope::nn

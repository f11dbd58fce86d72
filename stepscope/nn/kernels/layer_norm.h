// SPDX-License-Identifier: Apache-2.0
// Layer normalisation (Ba et al. 2016), fused with the residual addition before it:
//   sum = x + residual;   y = (sum - mean) rstd weight + bias,   rstd = 1 / sqrt(variance + eps)
// over rows of c elements; mean and (biased) variance of a row. T = float or Bf16; f32 inside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nn {

// residual may be null: then sum is x itself (the same memory, or null: nothing is written).
// sum may be x or residual. mean, rstd: [rows], kept for the backward pass.
template <class T>
void layer_norm_forward(std::int64_t rows, std::int64_t c, float eps, const T* x, const T* residual,
                        const T* weight, const T* bias, T* sum, T* y, float* mean, float* rstd);

// Floats of scratch that the backward pass needs.
[[nodiscard]] std::size_t layer_norm_scratch(std::int64_t c);

// dx_inout_add: [rows, c], the gradient of `sum` by its other uses; the norm's is added to it.
// dweight, dbias: [c], summed over rows in row order; overwritten, or added to where `add`.
template <class T>
void layer_norm_backward(std::int64_t rows, std::int64_t c, const T* sum, const T* weight,
                         const float* mean, const float* rstd, const T* dy, T* dx_inout_add,
                         T* dweight, T* dbias, bool add, float* scratch);

}  // namespace stepscope::nn

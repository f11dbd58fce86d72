// SPDX-License-Identifier: Apache-2.0
// Root mean square normalisation (Zhang and Sennrich 2019) as Llama has it, fused with the residual
// addition before it:
//   sum = x + residual;   y = sum rstd weight,   rstd = 1 / sqrt(mean of squares + eps)
// over rows of c elements. T = float or Bf16; f32 inside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::nn {

// residual may be null: then sum is x itself (the same memory, or null: nothing is written).
// sum may be x or residual. rstd: [rows], kept for the backward pass.
template <class T>
void rms_norm_forward(std::int64_t rows, std::int64_t c, float eps, const T* x, const T* residual,
                      const T* weight, T* sum, T* y, float* rstd);

// Floats of scratch that the backward pass needs.
[[nodiscard]] std::size_t rms_norm_scratch(std::int64_t c);

// dx_inout_add: [rows, c], the gradient of `sum` by its other uses; the norm's is added to it.
// dweight: [c], summed over rows in row order; overwritten, or added to where `add`.
template <class T>
void rms_norm_backward(std::int64_t rows, std::int64_t c, const T* sum, const T* weight,
                       const float* rstd, const T* dy, T* dx_inout_add, T* dweight, bool add,
                       float* scratch);

}  // namespace stepscope::nn

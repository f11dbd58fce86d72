// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/layer_norm.h"

#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/result.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/layer_norm.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T>
void layer_norm_forward(std::int64_t rows, std::int64_t c, float eps, const T* x, const T* residual,
                        const T* weight, const T* bias, T* sum, T* y, float* mean, float* rstd) {
  check(residual != nullptr || sum == x || sum == nullptr,
        "layer_norm: without a residual, the sum is x itself");
  STEPSCOPE_NN_CALL(norm_forward, rows, c, eps, x, residual, weight, bias, sum, y, mean, rstd);
}

std::size_t layer_norm_scratch(std::int64_t c) { return 2 * static_cast<std::size_t>(c); }

template <class T>
void layer_norm_backward(std::int64_t rows, std::int64_t c, const T* sum, const T* weight,
                         const float* mean, const float* rstd, const T* dy, T* dx_inout_add,
                         T* dweight, T* dbias, bool add, float* scratch) {
  STEPSCOPE_NN_CALL(norm_backward, rows, c, sum, weight, mean, rstd, dy, dx_inout_add, dweight,
                    dbias, add, scratch);
}

template void layer_norm_forward(std::int64_t, std::int64_t, float, const float*, const float*,
                                 const float*, const float*, float*, float*, float*, float*);
template void layer_norm_forward(std::int64_t, std::int64_t, float, const Bf16*, const Bf16*,
                                 const Bf16*, const Bf16*, Bf16*, Bf16*, float*, float*);
template void layer_norm_backward(std::int64_t, std::int64_t, const float*, const float*,
                                  const float*, const float*, const float*, float*, float*, float*,
                                  bool, float*);
template void layer_norm_backward(std::int64_t, std::int64_t, const Bf16*, const Bf16*,
                                  const float*, const float*, const Bf16*, Bf16*, Bf16*, Bf16*,
                                  bool, float*);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/adamw.h"

#include <type_traits>

#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/result.h"

namespace stepscope::nn {
namespace {

struct AdamWScalars {
  float scale, beta1, beta2, keep, rate, inverse_root, eps;
};

}  // namespace
}  // namespace stepscope::nn

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/adamw.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T>
void adamw(std::int64_t count, const AdamW& o, const T* grad, float grad_scale, float* master,
           float* m, float* v, T* param) {
  if constexpr (std::is_same_v<T, float>) {
    check(param == master, "adamw: for float, the parameters are the master copy");
  }
  const auto step = static_cast<double>(o.step);
  const double correction1 = 1.0 - std::pow(static_cast<double>(o.beta1), step);
  const double correction2 = 1.0 - std::pow(static_cast<double>(o.beta2), step);
  const AdamWScalars scalars = {
      .scale = grad_scale,
      .beta1 = o.beta1,
      .beta2 = o.beta2,
      .keep =
          static_cast<float>(1.0 - static_cast<double>(o.lr) * static_cast<double>(o.weight_decay)),
      .rate = static_cast<float>(static_cast<double>(o.lr) / correction1),
      .inverse_root = static_cast<float>(1.0 / std::sqrt(correction2)),
      .eps = o.eps};
  STEPSCOPE_NN_CALL(adamw_range, count, scalars, grad, master, m, v, param);
}

template void adamw(std::int64_t, const AdamW&, const float*, float, float*, float*, float*,
                    float*);
template void adamw(std::int64_t, const AdamW&, const Bf16*, float, float*, float*, float*, Bf16*);

}  // namespace stepscope::nn

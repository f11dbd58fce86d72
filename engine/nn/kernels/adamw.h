// SPDX-License-Identifier: Apache-2.0
// AdamW with decoupled weight decay (Loshchilov and Hutter 2019), as PyTorch computes it: one pass
// over a flat range of parameters.
#pragma once

#include <cstdint>

namespace stepscope::nn {

struct AdamW {
  float lr = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float eps = 1e-8F;
  float weight_decay = 0.0F;  // for all elements of the call; call again for ranges without decay
  std::int64_t step = 1;      // from 1
};

// g = grad * grad_scale
// m = beta1 m + (1 - beta1) g;   v = beta2 v + (1 - beta2) g^2
// master = master (1 - lr weight_decay)
//          - lr / (1 - beta1^step) * m / (sqrt(v / (1 - beta2^step)) + eps)
// param = master, rounded.
// Everything is computed in f32. For T = float, param and master are the same memory. An element's
// result depends only on its own values, not on `count` or its place in the range.
template <class T>
void adamw(std::int64_t count, const AdamW& optimizer, const T* grad, float grad_scale,
           float* master, float* m, float* v, T* param);

}  // namespace stepscope::nn

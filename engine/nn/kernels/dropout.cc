// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/dropout.h"

#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/result.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/dropout.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T>
void dropout(std::int64_t count, float p, DropoutKey key, const T* x, T* y) {
  check(p >= 0.0F && p < 1.0F, "dropout: the probability is not in [0, 1)");
  const auto threshold = static_cast<std::uint32_t>(static_cast<double>(p) * 4294967296.0);
  const auto scale = static_cast<float>(1.0 / (1.0 - static_cast<double>(p)));
  STEPSCOPE_NN_CALL(dropout_range, count, threshold, scale, key, x, y);
}

template void dropout(std::int64_t, float, DropoutKey, const float*, float*);
template void dropout(std::int64_t, float, DropoutKey, const Bf16*, Bf16*);

}  // namespace stepscope::nn

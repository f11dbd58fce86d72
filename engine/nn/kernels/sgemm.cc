// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/sgemm.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/nn/kernels/buffer.h"
#include "engine/nn/kernels/lanes.h"

namespace stepscope::nn {
namespace {

constexpr std::int64_t block_k = 256;

struct Buffers {
  Buffer a;
  Buffer b;
  Buffer sums;
};

}  // namespace
}  // namespace stepscope::nn

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/sgemm.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {

template <class T, class Out>
void sgemm(const MatmulShape& s, const T* a, const T* b, Out* c, const Out* bias, bool add) {
  thread_local Buffers buffers;
  STEPSCOPE_NN_CALL(product, s, a, b, c, bias, add, buffers);
}

template void sgemm(const MatmulShape&, const float*, const float*, float*, const float*, bool);
template void sgemm(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*, bool);
template void sgemm(const MatmulShape&, const Bf16*, const Bf16*, float*, const float*, bool);

}  // namespace stepscope::nn

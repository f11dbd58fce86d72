// SPDX-License-Identifier: Apache-2.0
// Dropout. The mask depends only on a key and the element's number (nn/kernels/philox.h).
// Recomputation and the backward pass make the same mask again, so no mask is stored.
#pragma once

#include <cstdint>

namespace stepscope::nn {

struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;  // differs between the places of a network, and between micro-batches
};

// y[i] = x[i] / (1 - p) if word i of the stream is at least p 2^32, else 0; 0 <= p < 1. Word i is
// philox4x32(seed, stream, i / 4)[i % 4]. The gradient is the same function of dy. y may be x.
template <class T>
void dropout(std::int64_t count, float p, DropoutKey key, const T* x, T* y);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021) in the half layout of Llama and Hugging Face. Element
// i of a head's first half and element i of its second half are rotated by the angle position *
// theta^(-2i/d).
#pragma once

#include <cstdint>

namespace stepscope::nn {

// Rotates in place the first `heads_to_rotate` heads (the q and k heads of a qkv row) in each of b
// * t rows. A head has d elements (d even); rows lie row_stride elements apart. The position of row
// [b, t] is t. `backward` rotates gradients back by the same angles. T = float or Bf16; computed in
// f32, rounded once. A thread keeps the sines and cosines of the last (t, d, theta); only a change
// of these allocates.
template <class T>
void rotary(std::int64_t b, std::int64_t t, std::int64_t heads_to_rotate, std::int64_t d,
            std::int64_t row_stride, float theta, T* qk, bool backward);

}  // namespace stepscope::nn

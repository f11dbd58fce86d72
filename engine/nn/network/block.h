// SPDX-License-Identifier: Apache-2.0
// A block of the decoder, forward and backward:
//   middle = input + proj(attention(qkv(norm1(input))))
//   output = middle + down(act(up(norm2(middle))))
// The next norm does the last sum: a block leaves its feed-forward branch in `narrow`.
#pragma once

#include <cstdint>

#include "engine/nn/network/block_tensors.h"
#include "engine/nn/network/network_run.h"

namespace stepscope::nn {

// Layer 0 finds its input in place. Other layers add the branch and the middle of the previous
// layer.
template <class T>
void block_forward(const NetworkRun& run, std::int64_t layer, const BlockTensors<const T*>& w);

// Recomputes the values that forward did not keep, with the same bits.
template <class T>
void block_recompute(const NetworkRun& run, std::int64_t layer, const BlockTensors<const T*>& w);

// stream_gradient: the gradient of the output on entry, of the input on return.
template <class T>
void block_backward(const NetworkRun& run, std::int64_t layer, const BlockTensors<const T*>& w,
                    const BlockTensors<T*>& dw, bool accumulate);

}  // namespace stepscope::nn

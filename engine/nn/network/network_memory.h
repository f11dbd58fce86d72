// SPDX-License-Identifier: Apache-2.0
// The memory layout of a network: byte offsets, all multiples of 64, into the two memories that its
// caller gives. The activations hold the values that each layer keeps from forward to backward. The
// scratch holds values that live within a pass or between neighbouring passes, and one layer's
// recomputed values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/nn/network/network_config.h"
#include "engine/nn/network/passes.h"
#include "stepscope/base/element.h"

namespace stepscope::nn {

// The intermediate values of a block; R = rows = batch * tokens.
enum class BlockValue : std::uint8_t {
  input,      // [R, C] the residual stream
  norm1,      // [R, C]
  qkv,        // [R, qkv_width], rotated
  attention,  // [R, C]
  middle,     // [R, C] the residual stream after attention
  norm2,      // [R, C]
  up,         // [R, feed_forward_width] before the activation function
  act,        // [R, hidden] after it
  logsumexp,  // the others are f32: [B, heads, T] of attention
  mean1,      // [R] of the norms; rms norms have no means
  rstd1,
  mean2,
  rstd2,
};
inline constexpr std::size_t block_value_count = 13;

struct NetworkMemory {
  static constexpr std::int64_t nowhere = -1;

  std::vector<Recompute> recompute;       // of each layer: none, selective or full
  std::vector<std::int64_t> layer_begin;  // in the activations
  // Offsets within a layer's activations, by its recomputation; nowhere: not kept.
  std::array<std::array<std::int64_t, block_value_count>, 3> kept{};
  std::array<std::int64_t, block_value_count> recomputed{};  // in the scratch; or nowhere
  // Offsets in the scratch.
  std::int64_t stream_gradient = 0;  // [R, C] of the residual stream
  std::int64_t narrow = 0;           // [R, C] a branch's output; gradients of it and of norms
  std::int64_t wide = 0;             // [R, the widest product]: gradients; the head's norm
  std::int64_t act_gradient = 0;     // [R, hidden], llama
  std::int64_t dropped = 0;          // [R, C] of a branch behind its dropout
  std::int64_t mean = 0;             // [R] of the final norm
  std::int64_t rstd = 0;
  std::int64_t work = 0;  // the kernels' own scratch, f32

  std::int64_t activation_bytes = 0;
  std::int64_t scratch_bytes = 0;
};

// For micro-batches of up to `batch` sequences of up to `tokens`.
[[nodiscard]] NetworkMemory lay_out(const NetworkConfig& config, ElementType type,
                                    std::int64_t batch, std::int64_t tokens,
                                    const RecomputePlan& plan);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// Rank-order reduction: out[i] = ((sources[0][i] + sources[1][i]) + sources[2][i]) + …
#pragma once

#include <cstddef>
#include <span>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/element.h"

namespace stepscope::comm {

// Reduces `bytes` bytes (whole elements) of each source into out. out may be one of the sources.
// The result has the same bits on every CPU: bf16 is summed in f32 and rounded once; i64 and u8
// wrap around. max and min keep the first of equal elements; a comparison with NaN keeps the
// earlier element. With `streaming`, out is written with non-temporal stores.
void reduce_in_order(ElementType type, Reduction reduction,
                     std::span<const std::byte* const> sources, std::byte* out, std::size_t bytes,
                     bool streaming);

}  // namespace stepscope::comm

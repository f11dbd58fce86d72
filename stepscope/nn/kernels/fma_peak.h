// SPDX-License-Identifier: Apache-2.0
// What one core can reach at most: multiply-adds between registers, with the widest instructions
// that this CPU has for the type.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"

namespace stepscope::nn {

struct FmaPeak {
  FlopRate rate;       // of the best loop: a neighbour on the same core lowers it, never raises it
  FlopRate sustained;  // of all loops together: what the core gives just now
  std::string_view instructions;  // "AVX-512", "AMX"
};

// Of several loops that together take about `duration`, on the calling thread. f32 or bf16
// (accumulated in f32); absent where the CPU has no instruction for the type.
[[nodiscard]] std::optional<FmaPeak> fma_peak(ElementType type, Ns duration);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
// The peak rate of one core: multiply-adds between registers, with the widest instructions that
// this CPU has for the type.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"

namespace stepscope::nn {

struct FmaPeak {
  FlopRate rate;                  // of the best loop; another program on the core can only lower it
  FlopRate sustained;             // of all loops together: the core's present rate
  std::string_view instructions;  // "AVX-512", "AMX"
};

// Measures several loops on the calling thread; together they take about `duration`. f32 or bf16
// (accumulated in f32). Absent if the CPU has no instruction for the type.
[[nodiscard]] std::optional<FmaPeak> fma_peak(ElementType type, Ns duration);

}  // namespace stepscope::nn

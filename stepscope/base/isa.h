// SPDX-License-Identifier: Apache-2.0
// The instruction set that vector code uses. stepscope is compiled for every x86-64 CPU. Vector
// code is compiled once per level. The level that runs is the highest that the CPU, its operating
// system and STEPSCOPE_ISA allow.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

enum class Isa : std::uint8_t {
  baseline,  // SSE2
  avx2,      // AVX2 and FMA
  avx512,    // AVX-512 F, BW, DQ, VL
};

[[nodiscard]] std::string_view isa_name(Isa isa);

// The value of the environment variable STEPSCOPE_ISA: baseline, avx2 or avx512. Absent if it is
// unset or empty; an error for another word.
[[nodiscard]] Result<std::optional<Isa>> isa_limit_from_environment();
// The same, read once for the process. The check fails for another word. A limit also switches AMX
// off, in our code and in oneDNN.
[[nodiscard]] std::optional<Isa> isa_limit();

// The levels that this machine supports within the limit, lowest first.
[[nodiscard]] std::vector<Isa> available_isas();
// The level in use: the highest available one, unless use_isa() lowered it.
[[nodiscard]] Isa isa();
// For tests and benchmarks: from now on the kernels of nn/ use `isa`, which must be available.
// oneDNN's matrix products keep their level. Do not call it while another thread runs kernels.
void use_isa(Isa isa);

}  // namespace stepscope

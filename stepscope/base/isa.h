// SPDX-License-Identifier: Apache-2.0
// The instruction set that vector code uses. stepscope is compiled for every x86-64 CPU; vector
// code exists once for each level, and the highest level that the CPU, its operating system and
// STEPSCOPE_ISA allow runs.
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

// The value of the environment variable STEPSCOPE_ISA: baseline, avx2 or avx512. Nothing where it
// is unset or empty; an error where it is another word.
[[nodiscard]] Result<std::optional<Isa>> isa_limit_from_environment();
// The same, read once for the process. The check fails on another word. A limit also switches AMX
// off, in our code and in oneDNN.
[[nodiscard]] std::optional<Isa> isa_limit();

// The levels that this machine has within the limit, lowest first.
[[nodiscard]] std::vector<Isa> available_isas();
// The level in use: the highest available one unless use_isa() lowered it.
[[nodiscard]] Isa isa();
// For tests and benchmarks: the kernels of nn/ use `isa`, which must be available, from now on.
// oneDNN's matrix products keep their level. Not while another thread runs kernels.
void use_isa(Isa isa);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Which instructions the kernels use. The library is compiled for every x86-64; each kernel exists
// three times, and the widest that the CPU and its system offer runs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepscope::nn {

enum class Isa : std::uint8_t {
  baseline,  // SSE2
  avx2,      // AVX2 and FMA
  avx512,    // AVX-512 F, BW, DQ, VL
};

[[nodiscard]] std::string_view isa_name(Isa isa);
// The levels that this machine has, lowest first.
[[nodiscard]] std::vector<Isa> available_isas();
// What the kernels of this process use now: the highest available unless lowered.
[[nodiscard]] Isa isa();
// For tests and benchmarks: the kernels use `isa` (which must be available) from now on, oneDNN's
// matrix products excepted. Not while another thread runs kernels.
void use_isa(Isa isa);

}  // namespace stepscope::nn

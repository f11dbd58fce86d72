// SPDX-License-Identifier: Apache-2.0
// The instruction set that vector code uses. stepscope is compiled for every CPU of a kind. Vector
// code is compiled once per level. The level that runs is the highest that the CPU, its operating
// system and STEPSCOPE_ISA allow.
#pragma once

// The intrinsics of SSE2 (__m128, _mm_add_ps, ...), and on x86-64 those of all later instruction
// sets. Every x86-64 has SSE2. Elsewhere SIMDe makes them of the CPU's own vectors (NEON).
#if defined(__x86_64__)
#include <immintrin.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/sse2.h>
#endif

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

// Compiles a function for instructions of x86-64, which isa() or cpu_features() then must allow.
// For another CPU nothing is changed: there isa() is baseline.
#if defined(__x86_64__)
#define STEPSCOPE_TARGET(features) __attribute__((target(features)))
#else
#define STEPSCOPE_TARGET(features)
#endif

namespace stepscope {

enum class Isa : std::uint8_t {
  baseline,  // SSE2; on another CPU than an x86-64, its own
  avx2,      // AVX2 and FMA
  avx512,    // AVX-512 F, BW, DQ, VL
};

[[nodiscard]] std::string_view isa_name(Isa isa);

// What this CPU has, and whose registers the operating system saves. All false on a CPU that is not
// an x86-64.
struct CpuFeatures {
  bool intel = false;  // the maker
  bool popcnt = false;
  bool pclmul = false;
  bool bmi = false;
  bool bmi2 = false;
  bool avx2 = false;    // and FMA
  bool avx512 = false;  // F, BW, DQ and VL
  bool avx512_bf16 = false;
  bool avx512_vbmi2 = false;
  bool amx_bf16 = false;  // tiles, which the kernel must still permit
};
// Read once from CPUID. __builtin_cpu_supports is not used: in the run-time library of some
// toolchains it knows no features and always says no.
[[nodiscard]] const CpuFeatures& cpu_features();

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

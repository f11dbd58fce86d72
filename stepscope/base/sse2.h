// SPDX-License-Identifier: Apache-2.0
// The intrinsics of SSE2 (__m128, _mm_add_ps, ...), and on x86-64 those of all later instruction
// sets. Every x86-64 has SSE2. Elsewhere SIMDe makes them of the CPU's own vectors (NEON).
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/sse2.h>
#endif

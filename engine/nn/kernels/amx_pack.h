// SPDX-License-Identifier: Apache-2.0
// The packing of operands of amx_gemm.cc into AMX tiles of 16 rows of 64 bytes.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "stepscope/base/element.h"

#define AMX_VECTORS \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#define AMX_INLINE AMX_VECTORS __attribute__((always_inline)) inline

namespace stepscope::nn {

inline constexpr std::int64_t panel = 32;       // rows or columns: two tiles
inline constexpr std::int64_t step_depth = 32;  // of k: one tile
inline constexpr std::int64_t tile_values = 512;
inline constexpr std::int64_t step_values = 2 * tile_values;

// An operand as its packing sees it. `lines` counts rows of a or columns of b. Value (line, k) is
// at from[line * stride + k] if `along_k`, otherwise at from[k * stride + line].
struct AmxOperand {
  const Bf16* from;
  std::int64_t stride;
  std::int64_t lines;
  std::int64_t depth;
  bool along_k;
  bool left;  // a
};

// Packs 32 lines at `line` and 32 values of k at `k` as two tiles. A left tile has a line in each
// row. A right tile has two values of k in each row, interleaved. Missing lines and values are
// zero.
using PackStep = void (*)(const AmxOperand& o, std::int64_t line, std::int64_t k, Bf16* to);

AMX_INLINE __mmask32 first_values(std::int64_t count) {
  if (count >= 32) return ~__mmask32{0};
  return count <= 0 ? __mmask32{0} : static_cast<__mmask32>((1U << count) - 1U);
}

AMX_INLINE __m512i load_values(const AmxOperand& o, std::int64_t row, std::int64_t rows,
                               std::int64_t column, __mmask32 there) {
  if (row >= rows) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(there, o.from + row * o.stride + column);
}

// Transposes 16 x 16 words of 32 bits.
AMX_INLINE void transpose_words(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

AMX_VECTORS inline void pack_left_along_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                          Bf16* to) {
  const __mmask32 there = first_values(o.depth - k);
  for (std::int64_t i = 0; i < panel; ++i) {
    _mm512_store_si512(to + i * step_depth, load_values(o, line + i, o.lines, k, there));
  }
}

AMX_VECTORS inline void pack_right_along_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                           Bf16* to) {
  const __mmask32 there = first_values(o.depth - k);
  for (std::int64_t half = 0; half < 2; ++half) {
    __m512i r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      r[i] = load_values(o, line + half * 16 + i, o.lines, k, there);
    }
    transpose_words(r);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) _mm512_store_si512(to + half * tile_values + i * 32, r[i]);
  }
}

AMX_VECTORS inline void pack_right_across_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                            Bf16* to) {
  const __mmask32 there = first_values(o.lines - line);
  const __m512i lower = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i upper = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (std::int64_t p = 0; p < 16; ++p) {
    const __m512i even = load_values(o, k + 2 * p, o.depth, line, there);
    const __m512i odd = load_values(o, k + 2 * p + 1, o.depth, line, there);
    const __m512i low = _mm512_unpacklo_epi16(even, odd);
    const __m512i high = _mm512_unpackhi_epi16(even, odd);
    _mm512_store_si512(to + p * 32, _mm512_permutex2var_epi64(low, lower, high));
    _mm512_store_si512(to + tile_values + p * 32, _mm512_permutex2var_epi64(low, upper, high));
  }
}

AMX_VECTORS inline void pack_left_across_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                           Bf16* to) {
  const __mmask32 there = first_values(o.lines - line);
  for (std::int64_t half = 0; half < 2; ++half) {
    __m512i r[16];
#pragma GCC unroll 16
    for (int p = 0; p < 16; ++p) {
      const __m512i even = load_values(o, k + 2 * p, o.depth, line, there);
      const __m512i odd = load_values(o, k + 2 * p + 1, o.depth, line, there);
      r[p] = half == 0 ? _mm512_unpacklo_epi16(even, odd) : _mm512_unpackhi_epi16(even, odd);
    }
    transpose_words(r);
    // unpacklo takes the lower four of every eight lines, unpackhi the upper four.
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      _mm512_store_si512(to + (i / 4 * 8 + half * 4 + i % 4) * 32, r[i]);
    }
  }
}

inline PackStep pack_step_of(const AmxOperand& o) {
  if (o.left) return o.along_k ? pack_left_along_k : pack_left_across_k;
  return o.along_k ? pack_right_along_k : pack_right_across_k;
}

}  // namespace stepscope::nn

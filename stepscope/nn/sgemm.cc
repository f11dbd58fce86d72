// SPDX-License-Identifier: Apache-2.0
#include "stepscope/nn/sgemm.h"

#if !defined(__clang__)  // GCC bug 105593: its own intrinsics are said to read what is not set
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "stepscope/base/result.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) inline

namespace stepscope::nn {
namespace {

// 24 registers of sums, 4 of b and 1 of a; a step of k has 24 multiply-adds to 10 loads.
constexpr std::int64_t tile_rows = 6;
constexpr std::int64_t tile_vectors = 4;
constexpr std::int64_t tile_columns = 16 * tile_vectors;
constexpr std::int64_t block_k = 384;
constexpr std::int64_t block_rows = 32 * tile_rows;        // of a: 288 KiB of the L2 cache
constexpr std::int64_t block_columns = 16 * tile_columns;  // of b: 1.5 MiB
constexpr std::int64_t a_floats = block_rows * block_k + 16;
constexpr std::int64_t b_floats = block_columns * block_k;

struct AlignedFree {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
struct Buffers {
  std::unique_ptr<float[], AlignedFree> a{new (std::align_val_t{64}) float[a_floats]};
  std::unique_ptr<float[], AlignedFree> b{new (std::align_val_t{64}) float[b_floats]};
};

// Without the vector's attributes, which std::array would ignore.
struct Vector {
  __m512 value;
};

// 16 rows of up to 16 values each become 16 columns; rows from `rows` on are zero.
AVX512_INLINE void load_transposed(const float* from, std::int64_t stride, std::int64_t rows,
                                   __mmask16 columns, __m512 (&r)[16]) {
  __m512 t[16];
  for (std::int64_t i = 0; i < 16; ++i) {
    r[i] = i < rows ? _mm512_maskz_loadu_ps(columns, from + i * stride) : _mm512_setzero_ps();
  }
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
  }
}

AVX512_INLINE __mmask16 first(std::int64_t count) {
  return count >= 16 ? __mmask16{0xffff}
                     : static_cast<__mmask16>(
                           (1U << static_cast<unsigned>(std::max<std::int64_t>(count, 0))) - 1U);
}

// Panels of `width` values a step of k, one step after the other. `major`: of the operand, whose
// value (i, k) is at from[i * stride + k], or at from[k * stride + i] where k_major.
template <std::int64_t width>
AVX512 void pack(const float* from, std::int64_t stride, bool k_major, std::int64_t count,
                 std::int64_t depth, float* to) {
  if (k_major) {  // row by row: the rows of a wide matrix share few sets of a cache
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t i = 0; i < count; i += width) {
        for (std::int64_t part = 0; part < width; part += 16) {
          const __m512 values = _mm512_maskz_loadu_ps(first(std::min(width, count - i) - part),
                                                      from + k * stride + i + part);
          _mm512_mask_storeu_ps(to + i * depth + k * width + part, first(width - part), values);
        }
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < count; i += width) {
    const std::int64_t there = std::min(width, count - i);
    float* panel = to + i * depth;
    for (std::int64_t k = 0; k < depth; k += 16) {
      for (std::int64_t part = 0; part < width; part += 16) {
        __m512 columns[16];
        load_transposed(from + (i + part) * stride + k, stride, there - part, first(depth - k),
                        columns);
        const std::int64_t steps = std::min<std::int64_t>(16, depth - k);
        for (std::int64_t s = 0; s < steps; ++s) {
          _mm512_mask_storeu_ps(panel + (k + s) * width + part, first(width - part), columns[s]);
        }
      }
    }
  }
}

struct Tile {
  const float* a;  // packed panels
  const float* b;
  float* c;
  std::int64_t ldc;
  std::int64_t depth;
  const float* bias;     // added where not null
  bool add;              // to what c holds
  std::int64_t columns;  // that c has from here on
};

template <std::size_t rows, std::size_t vectors>
AVX512 void multiply(const Tile& t) {
  std::array<std::array<Vector, vectors>, rows> sum;
#pragma GCC unroll 16
  for (auto& row : sum) {
#pragma GCC unroll 4
    for (Vector& s : row) s.value = _mm512_setzero_ps();
  }
  const float* a = t.a;
  const float* b = t.b;
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < t.depth; ++k) {
    std::array<Vector, vectors> right;
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) right[v].value = _mm512_load_ps(b + 16 * v);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
      const __m512 left = _mm512_set1_ps(a[i]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        sum[i][v].value = _mm512_fmadd_ps(left, right[v].value, sum[i][v].value);
      }
    }
    a += tile_rows;
    b += tile_columns;
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    const __mmask16 there = first(t.columns - 16 * static_cast<std::int64_t>(v));
    const __m512 bias =
        t.bias != nullptr ? _mm512_maskz_loadu_ps(there, t.bias + 16 * v) : _mm512_setzero_ps();
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
      float* c = t.c + static_cast<std::int64_t>(i) * t.ldc + 16 * v;
      __m512 s = _mm512_add_ps(sum[i][v].value, bias);
      if (t.add) s = _mm512_add_ps(s, _mm512_maskz_loadu_ps(there, c));
      _mm512_mask_storeu_ps(c, there, s);
    }
  }
}

using Multiply = void (*)(const Tile&);
template <std::size_t... i>
constexpr std::array<Multiply, sizeof...(i)> all_tiles(std::index_sequence<i...>) {
  return {multiply<i % tile_rows + 1, i / tile_rows + 1>...};
}
constexpr auto tiles = all_tiles(std::make_index_sequence<tile_rows * tile_vectors>{});

// Of the rows and columns that are there, up to a whole tile's.
Multiply tile_of(std::int64_t rows, std::int64_t columns) {
  const std::int64_t vectors = std::min(tile_vectors, (columns + 15) / 16);
  return tiles[static_cast<std::size_t>((vectors - 1) * tile_rows + std::min(tile_rows, rows) - 1)];
}

}  // namespace

bool sgemm_runs_here() {
  static const bool here = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }();
  return here;
}

Bytes sgemm_buffer_bytes() { return {4 * (a_floats + b_floats)}; }

AVX512 void sgemm(const MatmulShape& s, const float* a, const float* b, float* c, const float* bias,
                  bool add) {
  thread_local const Buffers buffers;
  float* packed_a = buffers.a.get();
  float* packed_b = buffers.b.get();
  for (std::int64_t j = 0; j < s.n; j += block_columns) {
    const std::int64_t columns = std::min(block_columns, s.n - j);
    for (std::int64_t k = 0; k < s.k; k += block_k) {
      const std::int64_t depth = std::min(block_k, s.k - k);
      pack<tile_columns>(s.transpose_b ? b + j * s.ldb + k : b + k * s.ldb + j, s.ldb,
                         !s.transpose_b, columns, depth, packed_b);
      for (std::int64_t i = 0; i < s.m; i += block_rows) {
        const std::int64_t rows = std::min(block_rows, s.m - i);
        pack<tile_rows>(s.transpose_a ? a + k * s.lda + i : a + i * s.lda + k, s.lda, s.transpose_a,
                        rows, depth, packed_a);
        for (std::int64_t jt = 0; jt < columns; jt += tile_columns) {
          Tile tile{.a = packed_a,
                    .b = packed_b + jt * depth,
                    .c = nullptr,
                    .ldc = s.ldc,
                    .depth = depth,
                    .bias = k == 0 && bias != nullptr ? bias + j + jt : nullptr,
                    .add = add || k > 0,
                    .columns = columns - jt};
          for (std::int64_t it = 0; it < rows; it += tile_rows) {
            tile.a = packed_a + it * depth;
            tile.c = c + (i + it) * s.ldc + j + jt;
            tile_of(rows - it, columns - jt)(tile);
          }
        }
      }
    }
  }
}

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/nn/kernels/sgemm.h"

#if !defined(__clang__)  // GCC bug 105593: false warnings about its own intrinsics
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

#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define AVX512_INLINE AVX512 __attribute__((always_inline)) inline

namespace stepscope::nn {
namespace {

// 24 registers hold sums, 3 hold b and 1 holds a. A step of k has 24 multiply-adds and 11 loads.
constexpr std::int64_t tile_rows = 8;
constexpr std::int64_t tile_vectors = 3;
constexpr std::int64_t tile_columns = 16 * tile_vectors;
constexpr std::int64_t block_k = 256;
constexpr std::int64_t block_rows = 512;  // of a: 512 KiB, in the L2 cache
constexpr std::int64_t a_floats = block_rows * block_k;
constexpr std::int64_t b_floats = tile_columns * block_k;  // one panel: 48 KiB

struct AlignedFree {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
struct Buffers {
  std::unique_ptr<float[], AlignedFree> a{new (std::align_val_t{64}) float[a_floats]};
  std::unique_ptr<float[], AlignedFree> b{new (std::align_val_t{64}) float[b_floats]};
};

// A vector type without attributes, which std::array would ignore.
struct Vector {
  __m512 value;
};

// Transposes 16 rows of up to 16 values into 16 columns. Rows from `rows` on are zero.
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

// Copies values 0..15 of step k of an operand's rows (or columns) `at`.. to their place in panels
// with `width` values per step.
template <std::int64_t width>
AVX512_INLINE void store_step(__m512 values, std::int64_t at, std::int64_t k, std::int64_t depth,
                              float* panels) {
  if constexpr (width == 8) {
    float* to = panels + at * depth + k * width;
    _mm256_store_ps(to, _mm512_castps512_ps256(values));
    _mm256_store_ps(to + width * depth, _mm512_extractf32x8_ps(values, 1));
  } else {
    _mm512_store_ps(panels + k * width + at, values);
  }
}

// The operand's value (i, k), i < count, is at from[k * stride + i].
template <std::int64_t width>
AVX512 void pack_k_major(const float* from, std::int64_t stride, std::int64_t count,
                         std::int64_t depth, float* to) {
  for (std::int64_t k = 0; k < depth; k += 16) {
    const std::int64_t end = std::min<std::int64_t>(k + 16, depth);
    for (std::int64_t i = 0; i < count; i += 16) {
      const __mmask16 there = first(count - i);
      for (std::int64_t step = k; step < end; ++step) {
        store_step<width>(_mm512_maskz_loadu_ps(there, from + step * stride + i), i, step, depth,
                          to);
      }
    }
  }
}

// The operand's value (i, k) is at from[i * stride + k].
template <std::int64_t width>
AVX512 void pack_transposed(const float* from, std::int64_t stride, std::int64_t count,
                            std::int64_t depth, float* to) {
  for (std::int64_t i = 0; i < count; i += 16) {
    for (std::int64_t k = 0; k < depth; k += 16) {
      __m512 columns[16];
      load_transposed(from + i * stride + k, stride, count - i, first(depth - k), columns);
      const std::int64_t steps = std::min<std::int64_t>(16, depth - k);
      for (std::int64_t step = 0; step < steps; ++step) {
        store_step<width>(columns[step], i, k + step, depth, to);
      }
    }
  }
}

struct Tile {
  const float* a;      // packed or in place
  std::int64_t a_row;  // elements from one row to the next, if a is not packed
  const float* b;      // packed
  float* c;
  std::int64_t ldc;
  std::int64_t depth;
  const float* bias;     // added if not null
  bool add;              // to the contents of c
  std::int64_t columns;  // of c from here on
  // The data that will be packed next, prefetched meanwhile: 2^next_shift * next_lines * 64 bytes
  // of each row.
  const float* next;
  std::int64_t next_row;
  int next_shift;
  int next_lines;
};

template <std::size_t rows, std::size_t vectors>
using Sums = std::array<std::array<Vector, vectors>, rows>;

// Keep this order and this register: compilers that mix the steps of k run out of registers.
AVX512_INLINE __m512 multiply_add(__m512 a, __m512 b, __m512 sum) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

// Pointers to rows 0, 3 and 6. An address can reach two more rows from each.
using Rows = std::array<const float*, 3>;

// Adds the product of the values of a and b at step `k` from the current pointers.
template <bool packed, std::size_t rows, std::size_t vectors>
AVX512_INLINE void add_step(const Rows& a, std::int64_t a_row, const float* b, std::int64_t k,
                            Sums<rows, vectors>& sum) {
  std::array<Vector, vectors> right;
#pragma GCC unroll 3
  for (std::size_t v = 0; v < vectors; ++v) {
    right[v].value = _mm512_load_ps(b + k * tile_columns + 16 * v);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i) {
    const auto third = static_cast<std::int64_t>(i % 3);
    const __m512 left = _mm512_set1_ps(packed ? a[0][k * tile_rows + static_cast<std::int64_t>(i)]
                                              : a[i / 3][third * a_row + k]);
#pragma GCC unroll 3
    for (std::size_t v = 0; v < vectors; ++v) {
      sum[i][v].value = multiply_add(left, right[v].value, sum[i][v].value);
    }
  }
}

template <bool packed, std::size_t rows, std::size_t vectors>
AVX512 void multiply(const Tile& t) {
  Sums<rows, vectors> sum;
#pragma GCC unroll 8
  for (auto& row : sum) {
#pragma GCC unroll 3
    for (Vector& s : row) s.value = _mm512_setzero_ps();
  }
  constexpr std::int64_t a_step = packed ? tile_rows : 1;
  const float* b = t.b;
  Rows a = {t.a, t.a + 3 * t.a_row, t.a + 6 * t.a_row};
  std::int64_t k = 0;
  // Spread the prefetches: many requests at once delay the loads.
  for (std::int64_t part = 0; k + 4 <= t.depth; ++part) {
    const float* c = t.c + std::min<std::int64_t>(part, rows - 1) * t.ldc;
#pragma GCC unroll 3
    for (std::size_t v = 0; v < vectors; ++v) __builtin_prefetch(c + 16 * v, 1);
    const float* next = t.next + (part >> t.next_shift) * t.next_row +
                        (part & ((1 << t.next_shift) - 1)) * 16 * t.next_lines;
    for (int line = 0; line < t.next_lines; ++line) _mm_prefetch(next + 16 * line, _MM_HINT_T1);
    const std::int64_t end = std::min(k + block_k / 8, t.depth);
    for (; k + 4 <= end; k += 4) {
      add_step<packed>(a, t.a_row, b, 0, sum);
      add_step<packed>(a, t.a_row, b, 1, sum);
      add_step<packed>(a, t.a_row, b, 2, sum);
      add_step<packed>(a, t.a_row, b, 3, sum);
      for (const float*& from : a) from += 4 * a_step;
      b += 4 * tile_columns;
    }
  }
  for (; k < t.depth; ++k) {
    add_step<packed>(a, t.a_row, b, 0, sum);
    for (const float*& from : a) from += a_step;
    b += tile_columns;
  }
#pragma GCC unroll 3
  for (std::size_t v = 0; v < vectors; ++v) {
    const __mmask16 there = first(t.columns - 16 * static_cast<std::int64_t>(v));
    const __m512 bias =
        t.bias != nullptr ? _mm512_maskz_loadu_ps(there, t.bias + 16 * v) : _mm512_setzero_ps();
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i) {
      float* c = t.c + static_cast<std::int64_t>(i) * t.ldc + 16 * v;
      __m512 s = _mm512_add_ps(sum[i][v].value, bias);
      if (t.add) s = _mm512_add_ps(s, _mm512_maskz_loadu_ps(there, c));
      _mm512_mask_storeu_ps(c, there, s);
    }
  }
}

using Multiply = void (*)(const Tile&);
template <bool packed, std::size_t... i>
constexpr std::array<Multiply, sizeof...(i)> all_tiles(std::index_sequence<i...>) {
  return {multiply<packed, i % tile_rows + 1, i / tile_rows + 1>...};
}
using AllTiles = std::make_index_sequence<tile_rows * tile_vectors>;
constexpr auto packed_tiles = all_tiles<true>(AllTiles{});
constexpr auto direct_tiles = all_tiles<false>(AllTiles{});

// The rows and columns that exist, up to a whole tile.
Multiply tile_of(bool packed, std::int64_t rows, std::int64_t columns) {
  const std::int64_t vectors = std::min(tile_vectors, (columns + 15) / 16);
  const auto at =
      static_cast<std::size_t>((vectors - 1) * tile_rows + std::min(tile_rows, rows) - 1);
  return packed ? packed_tiles[at] : direct_tiles[at];
}

// The width of the next panel of b. Two panels of 32 columns take less time than one of 48 and one
// of 16, because a panel of 16 has one load per multiply-add.
std::int64_t panel_columns(std::int64_t left) {
  return left > tile_columns && left <= 64 ? 32 : std::min(tile_columns, left);
}

}  // namespace

bool sgemm_runs_here() {
  static const bool here = available_isas().back() == Isa::avx512;
  return here;
}

void sgemm(const MatmulShape& s, const float* a, const float* b, float* c, const float* bias,
           bool add) {
  thread_local const Buffers buffers;
  // If the rows of a lie whole pages apart, they share too few sets of the caches.
  const bool packs = s.transpose_a || s.lda % 1024 == 0;
  for (std::int64_t k = 0; k < s.k; k += block_k) {
    const std::int64_t depth = std::min(block_k, s.k - k);
    for (std::int64_t i = 0; i < s.m; i += block_rows) {
      const std::int64_t rows = std::min(block_rows, s.m - i);
      if (s.transpose_a) {
        pack_k_major<tile_rows>(a + k * s.lda + i, s.lda, rows, depth, buffers.a.get());
      } else if (packs) {
        pack_transposed<tile_rows>(a + i * s.lda + k, s.lda, rows, depth, buffers.a.get());
      }
      const bool few = rows <= block_rows / 2;
      const float* left = packs ? buffers.a.get() : a + i * s.lda + k;
      for (std::int64_t j = 0, columns = 0; j < s.n; j += columns) {
        columns = panel_columns(s.n - j);
        if (s.transpose_b) {
          pack_transposed<tile_columns>(b + j * s.ldb + k, s.ldb, columns, depth, buffers.b.get());
        } else {
          pack_k_major<tile_columns>(b + k * s.ldb + j, s.ldb, columns, depth, buffers.b.get());
        }
        Tile tile{.a = nullptr,
                  .a_row = s.lda,
                  .b = buffers.b.get(),
                  .c = nullptr,
                  .ldc = s.ldc,
                  .depth = depth,
                  .bias = k == 0 && bias != nullptr ? bias + j : nullptr,
                  .add = add || k > 0,
                  .columns = columns,
                  .next = nullptr,
                  .next_row = s.ldb,
                  .next_shift = (s.transpose_b ? 3 : 1) - (few ? 1 : 0),
                  .next_lines = few ? 4 : 2};
        const float* next =
            s.transpose_b ? b + (j + columns) * s.ldb + k : b + k * s.ldb + j + columns;
        for (std::int64_t t = 0; t < rows; t += tile_rows) {
          // A row of a transposed b, or four rows of 64 columns; twice as many if there are few
          // tiles.
          const std::int64_t row = t / tile_rows * (s.transpose_b ? 1 : 4) * (few ? 2 : 1);
          tile.next = next + std::min(row, (s.transpose_b ? tile_columns : depth) - 1) * s.ldb;
          tile.a = left + t * (packs ? depth : s.lda);
          tile.c = c + (i + t) * s.ldc + j;
          tile_of(packs, rows - t, columns)(tile);
        }
      }
    }
  }
}

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/nn/kernels/amx_gemm.h"

#if !defined(__clang__)  // GCC bug 105593: false warnings about its own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

#define AMX_VECTORS \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))
#define AMX_INLINE AMX_VECTORS __attribute__((always_inline)) inline

namespace stepscope::nn {
namespace {

constexpr std::int64_t panel = 32;       // rows or columns: two tiles
constexpr std::int64_t step_depth = 32;  // of k: one tile
constexpr std::int64_t tile_values = 512;
constexpr std::int64_t step_values = 2 * tile_values;
constexpr std::int64_t block_sums = panel * panel;
constexpr std::int64_t most_steps = 8;  // of a stage: a strip of 16 KiB, in the L1 cache
constexpr std::int64_t held_bytes = 3 << 19;
constexpr std::int64_t slice_steps = 48;  // if the held operand does not fit as a whole

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
// zero. `ahead` is the data that is packed a stage later; it is prefetched.
using PackStep = void (*)(const AmxOperand& o, std::int64_t line, std::int64_t k, const Bf16* ahead,
                          Bf16* to);

AMX_INLINE __mmask32 first_values(std::int64_t count) {
  if (count >= 32) return ~__mmask32{0};
  return count <= 0 ? __mmask32{0} : static_cast<__mmask32>((1U << count) - 1U);
}

AMX_INLINE __m512i load_values(const AmxOperand& o, std::int64_t row, std::int64_t rows,
                               std::int64_t column, __mmask32 there) {
  if (row >= rows) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(there, o.from + row * o.stride + column);
}

AMX_INLINE void prefetch_rows(const AmxOperand& o, const Bf16* ahead) {
  for (std::int64_t i = 0; i < 32; ++i) _mm_prefetch(ahead + i * o.stride, _MM_HINT_T1);
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

AMX_VECTORS void pack_left_along_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                   const Bf16* ahead, Bf16* to) {
  const __mmask32 there = first_values(o.depth - k);
  for (std::int64_t i = 0; i < panel; ++i) {
    _mm512_store_si512(to + i * step_depth, load_values(o, line + i, o.lines, k, there));
  }
  prefetch_rows(o, ahead);
}

AMX_VECTORS void pack_right_along_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                    const Bf16* ahead, Bf16* to) {
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
  prefetch_rows(o, ahead);
}

AMX_VECTORS void pack_right_across_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                     const Bf16* ahead, Bf16* to) {
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
  prefetch_rows(o, ahead);
}

AMX_VECTORS void pack_left_across_k(const AmxOperand& o, std::int64_t line, std::int64_t k,
                                    const Bf16* ahead, Bf16* to) {
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
  prefetch_rows(o, ahead);
}

PackStep pack_step_of(const AmxOperand& o) {
  if (o.left) return o.along_k ? pack_left_along_k : pack_left_across_k;
  return o.along_k ? pack_right_along_k : pack_right_across_k;
}

// --- The sums of a block of 32 x 32: four tiles, the left one's first row first

template <class Out>
struct BlockOut {
  const float* sums = nullptr;
  Out* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const Bf16* bias = nullptr;
  bool add = false;
};

AMX_INLINE __m512 widened_half(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

template <class Out>
AMX_INLINE void write_row(const BlockOut<Out>& o, std::int64_t i) {
  const float* sums = o.sums + i / 16 * 2 * 256 + i % 16 * 16;
  __m512 low = _mm512_load_ps(sums);
  __m512 high = _mm512_load_ps(sums + 256);
  const __mmask32 there = first_values(o.columns);
  if (o.bias != nullptr) {
    const __m512i bias = _mm512_maskz_loadu_epi16(there, o.bias);
    low = _mm512_add_ps(low, widened_half(_mm512_castsi512_si256(bias)));
    high = _mm512_add_ps(high, widened_half(_mm512_extracti64x4_epi64(bias, 1)));
  }
  Out* c = o.c + i * o.ldc;
  if constexpr (std::is_same_v<Out, float>) {
    const auto low_there = static_cast<__mmask16>(there);
    const auto high_there = static_cast<__mmask16>(there >> 16U);
    if (o.add) {
      low = _mm512_add_ps(low, _mm512_maskz_loadu_ps(low_there, c));
      high = _mm512_add_ps(high, _mm512_maskz_loadu_ps(high_there, c + 16));
    }
    _mm512_mask_storeu_ps(c, low_there, low);
    _mm512_mask_storeu_ps(c + 16, high_there, high);
  } else {
    if (o.add) {
      const __m512i before = _mm512_maskz_loadu_epi16(there, c);
      low = _mm512_add_ps(low, widened_half(_mm512_castsi512_si256(before)));
      high = _mm512_add_ps(high, widened_half(_mm512_extracti64x4_epi64(before, 1)));
    }
    const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
    _mm512_mask_storeu_epi16(c, there, reinterpret_cast<const __m512i&>(both));
  }
}

// --- What the vector units do while the tiles multiply

template <class Out>
struct SideWork {
  // Packing of the next stage: `left` steps, `share` of them (in 1/4096) at each step of the tiles.
  const AmxOperand* operand = nullptr;
  PackStep pack = nullptr;
  std::int64_t line = 0;
  std::int64_t k = 0;
  const Bf16* ahead = nullptr;  // as far from `from` as the stage after the next from the next
  std::int64_t ahead_step = 0;
  Bf16* to = nullptr;
  std::int64_t left = 0;
  std::int64_t share = 0;
  std::int64_t due = 0;
  // The block whose sums are complete.
  BlockOut<Out> done{};
  std::int64_t written = 0;
  std::int64_t rows_a_step = 0;
};

template <class Out>
AMX_INLINE void pack_one(SideWork<Out>& side) {
  side.pack(*side.operand, side.line, side.k, side.ahead, side.to);
  side.k += step_depth;
  side.ahead += side.ahead_step;
  side.to += step_values;
  --side.left;
}

template <class Out>
AMX_INLINE void write_rows(SideWork<Out>& side, std::int64_t count) {
  const std::int64_t end = std::min(side.written + count, side.done.rows);
  for (; side.written < end; ++side.written) write_row(side.done, side.written);
}

template <class Out>
AMX_INLINE void work_beside(SideWork<Out>& side) {
  if (side.written < side.done.rows) write_rows(side, side.rows_a_step);
  if (side.left == 0) return;
  side.due += side.share;
  for (; side.due >= 4096 && side.left > 0; side.due -= 4096) pack_one(side);
}

// Multiplies `steps` steps of a left and a right panel of which 1 or 2 tiles hold data.
template <int lefts, int rights, class Out>
AMX_VECTORS void multiply_panels(const Bf16* left, const Bf16* right, std::int64_t steps,
                                 float* sums, bool from_zero, SideWork<Out>& side) {
  if (from_zero) {
    _tile_zero(0);
    if constexpr (rights == 2) _tile_zero(1);
    if constexpr (lefts == 2) _tile_zero(2);
    if constexpr (lefts == 2 && rights == 2) _tile_zero(3);
  } else {
    _tile_loadd(0, sums, 64);
    if constexpr (rights == 2) _tile_loadd(1, sums + 256, 64);
    if constexpr (lefts == 2) _tile_loadd(2, sums + 512, 64);
    if constexpr (lefts == 2 && rights == 2) _tile_loadd(3, sums + 768, 64);
  }
  for (std::int64_t s = 0; s < steps; ++s) {
    _tile_loadd(4, left, 64);
    _tile_loadd(6, right, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (rights == 2) {
      _tile_loadd(7, right + tile_values, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (lefts == 2) {
      _tile_loadd(5, left + tile_values, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (lefts == 2 && rights == 2) _tile_dpbf16ps(3, 5, 7);
    left += step_values;
    right += step_values;
    work_beside(side);
  }
  _tile_stored(0, sums, 64);
  if constexpr (rights == 2) _tile_stored(1, sums + 256, 64);
  if constexpr (lefts == 2) _tile_stored(2, sums + 512, 64);
  if constexpr (lefts == 2 && rights == 2) _tile_stored(3, sums + 768, 64);
}

template <class Out>
using MultiplyPanels = void (*)(const Bf16*, const Bf16*, std::int64_t, float*, bool,
                                SideWork<Out>&);

template <class Out>
MultiplyPanels<Out> panels_product(std::int64_t rows, std::int64_t columns) {
  if (rows > 16) return columns > 16 ? multiply_panels<2, 2, Out> : multiply_panels<2, 1, Out>;
  return columns > 16 ? multiply_panels<1, 2, Out> : multiply_panels<1, 1, Out>;
}

// --- The order of a product

struct AlignedBytes {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{4096}); }
};

// Grows and never shrinks.
class PackBuffer {
 public:
  template <class T>
  T* at_least(std::int64_t count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > size_) {
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{4096})));
      size_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  std::unique_ptr<std::byte[], AlignedBytes> memory_;
  std::size_t size_ = 0;
};

struct PackBuffers {
  PackBuffer held, strips, sums;
};

// k is divided into slices, for which the held operand is packed, and a slice into `parts` stages.
// Held lines are divided into groups.
struct AmxOrder {
  std::int64_t steps, slices, group, groups;
};

AmxOrder order_of(const AmxOperand& held) {
  AmxOrder o{};
  o.steps = (held.depth + step_depth - 1) / step_depth;
  const std::int64_t panels = (held.lines + panel - 1) / panel;
  const std::int64_t fit = held_bytes / 2 / (std::min(o.steps, slice_steps * 2) * step_values);
  o.slices = o.steps > slice_steps * 2 ? (o.steps + slice_steps - 1) / slice_steps : 1;
  o.group = std::min(panels, fit);
  o.groups = (panels + o.group - 1) / o.group;
  return o;
}

template <class Out>
struct AmxProduct {
  AmxOperand held, strip;
  Out* c;
  std::int64_t ldc;
  const Bf16* bias;
  bool add;
  std::int64_t strips;
};

// A part of k that one strip is packed for.
struct Stage {
  std::int64_t strip, begin, end;  // steps of k
};

// Stage s of a slice: all parts of the slice for the first strip, then for the next one.
Stage stage_at(std::int64_t first_step, std::int64_t steps, std::int64_t parts, std::int64_t s) {
  const std::int64_t part = s % parts;
  return {s / parts, first_step + steps * part / parts, first_step + steps * (part + 1) / parts};
}

const Bf16* place_of(const AmxOperand& o, std::int64_t line, std::int64_t k) {
  return o.along_k ? o.from + line * o.stride + k : o.from + k * o.stride + line;
}

template <class Out>
BlockOut<Out> block_of(const AmxProduct<Out>& p, const float* sums, std::int64_t strip,
                       std::int64_t held_panel) {
  const std::int64_t row = (p.strip.left ? strip : held_panel) * panel;
  const std::int64_t column = (p.strip.left ? held_panel : strip) * panel;
  const AmxOperand& left = p.strip.left ? p.strip : p.held;
  const AmxOperand& right = p.strip.left ? p.held : p.strip;
  return {sums,
          p.c + row * p.ldc + column,
          p.ldc,
          std::min(panel, left.lines - row),
          std::min(panel, right.lines - column),
          p.bias == nullptr ? nullptr : p.bias + column,
          p.add};
}

template <class Out>
AMX_VECTORS void prepare_packing(const AmxProduct<Out>& p, const Stage& next, const Stage& after,
                                 Bf16* to, std::int64_t tile_steps, SideWork<Out>& side) {
  side.line = next.strip * panel;
  side.k = next.begin * step_depth;
  side.to = to;
  side.left = next.end - next.begin;
  side.due = 0;
  side.share = (side.left * 4096 + tile_steps - 1) / tile_steps;
  side.ahead = place_of(p.strip, after.strip * panel, after.begin * step_depth);
  side.ahead_step = step_depth * (p.strip.along_k ? 1 : p.strip.stride);
}

template <class Out>
AMX_VECTORS void multiply_slice(const AmxProduct<Out>& p, const AmxOrder& order, std::int64_t group,
                                std::int64_t slice, Bf16* held, Bf16* strips, float* all_sums) {
  const std::int64_t first_step = order.steps * slice / order.slices;
  const std::int64_t steps = order.steps * (slice + 1) / order.slices - first_step;
  const std::int64_t first_panel = group * order.group;
  const std::int64_t panels =
      std::min(order.group, (p.held.lines + panel - 1) / panel - first_panel);
  const PackStep pack_held = pack_step_of(p.held);
  const std::int64_t parts = (steps + most_steps - 1) / most_steps;
  Bf16* to = held;  // in the order of use: parts of k, then panels, then steps
  for (std::int64_t part = 0; part < parts; ++part) {
    const Stage all = stage_at(first_step, steps, parts, part);
    for (std::int64_t i = first_panel; i < first_panel + panels; ++i) {
      for (std::int64_t s = all.begin; s < all.end; ++s, to += step_values) {
        const std::int64_t line = i * panel, k = s * step_depth;
        pack_held(p.held, line, k, place_of(p.held, line + panel, k), to);
      }
    }
  }
  const std::int64_t stages = parts * p.strips;
  SideWork<Out> side;
  side.operand = &p.strip;
  side.pack = pack_step_of(p.strip);
  const auto stage = [&](std::int64_t s) {
    return stage_at(first_step, steps, parts, std::min(s, stages - 1));
  };
  prepare_packing(p, stage(0), stage(1), strips, 1, side);
  while (side.left > 0) pack_one(side);
  for (std::int64_t s = 0; s < stages; ++s) {
    const Stage now = stage(s);
    const std::int64_t depth = now.end - now.begin;
    const Bf16* strip = strips + s % 2 * most_steps * step_values;
    if (s + 1 < stages) {
      prepare_packing(p, stage(s + 1), stage(s + 2),
                      strips + (s + 1) % 2 * most_steps * step_values, panels * depth, side);
    }
    float* sums = all_sums + (order.slices > 1 ? now.strip * panels * block_sums : 0);
    side.rows_a_step = (panel + depth - 1) / depth;
    for (std::int64_t i = 0; i < panels; ++i, sums += block_sums) {
      const Bf16* other = held + ((now.begin - first_step) * panels + i * depth) * step_values;
      const BlockOut<Out> block = block_of(p, sums, now.strip, first_panel + i);
      panels_product<Out>(block.rows, block.columns)(p.strip.left ? strip : other,
                                                     p.strip.left ? other : strip, depth, sums,
                                                     now.begin == 0, side);
      write_rows(side, panel);
      if (now.end < order.steps) continue;
      side.done = block;
      side.written = 0;
    }
    while (side.left > 0) pack_one(side);
    // The next stage may overwrite the sums.
    if (panels == 1) write_rows(side, panel);
  }
  write_rows(side, panel);
}

struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::array<std::uint8_t, 15> start_and_reserved{};
  std::array<std::uint16_t, 16> row_bytes{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

// Packing copies lines of a and interleaves rows of b; otherwise it transposes. Transposing takes
// longer, and only the packing of strips runs beside the tiles.
bool holds_left(const AmxOperand& left, const AmxOperand& right) {
  if (left.along_k == right.along_k) return left.along_k;
  return left.along_k ? left.lines <= right.lines : left.lines < right.lines;
}

template <class Out>
AMX_VECTORS void run_amx(const AmxProduct<Out>& p, PackBuffers& buffers) {
  const AmxOrder order = order_of(p.held);
  const std::int64_t slice_most = (order.steps + order.slices - 1) / order.slices;
  auto* held = buffers.held.at_least<Bf16>(order.group * slice_most * step_values);
  auto* strips = buffers.strips.at_least<Bf16>(2 * most_steps * step_values);
  auto* sums =
      buffers.sums.at_least<float>(order.group * block_sums * (order.slices > 1 ? p.strips : 1));
  const TileShapes shapes;
  asm volatile("" : : "r"(&shapes) : "memory");  // GCC takes the intrinsic for a read of 8 bytes
  _tile_loadconfig(&shapes);
  for (std::int64_t group = 0; group < order.groups; ++group) {
    for (std::int64_t slice = 0; slice < order.slices; ++slice) {
      multiply_slice(p, order, group, slice, held, strips, sums);
    }
  }
  _tile_release();
}

}  // namespace

bool amx_gemm_runs_here() {
  static const bool here = [] {
    if (isa_limit() || available_isas().back() != Isa::avx512) return false;
    if (!__builtin_cpu_supports("avx512bf16")) return false;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    constexpr unsigned amx_bf16_bit = 1U << 22U;
    constexpr unsigned amx_tile_bit = 1U << 24U;
    if ((d & amx_bf16_bit) == 0 || (d & amx_tile_bit) == 0) return false;
    constexpr long request_permission = 0x1023;  // arch_prctl(2)
    constexpr long tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return here;
}

template <class Out>
void amx_gemm(const MatmulShape& s, const Bf16* a, const Bf16* b, Out* c, const Bf16* bias,
              bool add) {
  thread_local PackBuffers buffers;
  const AmxOperand left{a, s.lda, s.m, s.k, !s.transpose_a, true};
  const AmxOperand right{b, s.ldb, s.n, s.k, s.transpose_b, false};
  const bool hold = holds_left(left, right);
  const AmxOperand& strip = hold ? right : left;
  const AmxProduct<Out> p{
      hold ? left : right, strip, c, s.ldc, bias, add, (strip.lines + panel - 1) / panel};
  run_amx(p, buffers);
}

template void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*, bool);
template void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, float*, const Bf16*, bool);

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/amx_gemm.h"

#if defined(__x86_64__)

#if !defined(__clang__)  // GCC bug 105593: false warnings about its own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "engine/nn/kernels/amx_pack.h"
#include "stepscope/base/isa.h"

namespace stepscope::nn {
namespace {

constexpr std::int64_t block_sums = panel * panel;
constexpr std::int64_t slice_steps = 8;  // 32 left lines take 16 KiB of the L1 cache
// Lines this far apart share a few sets of the L1 cache: 32 of them do not fit.
constexpr std::int64_t crowded_stride = 1024;
constexpr std::int64_t most_rights = 24;         // panels of a right group
constexpr std::int64_t most_packed_steps = 384;  // of a right group: 384 KiB of the L2 cache
constexpr std::int64_t most_kept_blocks = 192;   // of sums between chunks: 768 KiB

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
  bool flipped = false;
  const float* wide_bias = nullptr;  // of a flipped block: `panel` values, zeros without a bias
};

AMX_INLINE __m512 widened_half(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

template <class Out>
AMX_INLINE void write_values(const BlockOut<Out>& o, std::int64_t i, __m512 low, __m512 high) {
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

template <class Out>
AMX_INLINE void write_row(const BlockOut<Out>& o, std::int64_t i) {
  const float* sums = o.sums + i / 16 * 2 * 256 + i % 16 * 16;
  write_values(o, i, _mm512_load_ps(sums), _mm512_load_ps(sums + 256));
}

// The block of a flipped product has columns of c as its left lines and rows of c as its right
// ones. Sums of 16 right lines `half` are transposed and written.
template <class Out>
AMX_INLINE void write_flipped(const BlockOut<Out>& o, std::int64_t half) {
  const float* sums = o.sums + half * 256;
  __m512i low[16], high[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) low[i] = _mm512_load_si512(sums + i * 16);
  transpose_words(low);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) high[i] = _mm512_load_si512(sums + 512 + i * 16);
  transpose_words(high);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (half * 16 + i < o.rows) {
      write_values(o, half * 16 + i, _mm512_castsi512_ps(low[i]), _mm512_castsi512_ps(high[i]));
    }
  }
}

// The same for bf16 without `add`: pairs of columns are rounded first, so half of the data is
// transposed.
AMX_INLINE void write_flipped_pairs(const BlockOut<Bf16>& o, std::int64_t half) {
  const float* sums = o.sums + half * 256;
  const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  __m512i r[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const float* even = sums + i / 8 * 512 + i % 8 * 32;
    const __m512 first = _mm512_add_ps(_mm512_load_ps(even), _mm512_set1_ps(o.wide_bias[2 * i]));
    const __m512 second =
        _mm512_add_ps(_mm512_load_ps(even + 16), _mm512_set1_ps(o.wide_bias[2 * i + 1]));
    const __m512bh both = _mm512_cvtne2ps_pbh(second, first);
    r[i] = _mm512_permutexvar_epi16(pairs, reinterpret_cast<const __m512i&>(both));
  }
  transpose_words(r);
  const __mmask32 there = first_values(o.columns);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (half * 16 + i < o.rows) {
      _mm512_mask_storeu_epi16(o.c + (half * 16 + i) * o.ldc, there, r[i]);
    }
  }
}

// --- What runs between the steps of the tiles

// Lines of memory that are needed later, in their order in memory: rows of `bytes`, `stride` bytes
// apart. They arrive in the L2 cache.
struct Ahead {
  const char* row = nullptr;
  std::int64_t rows = 0, bytes = 0, stride = 0;
  std::int64_t at = 0;
  std::int64_t a_step = 0;  // lines
};

Ahead ahead_of(const void* from, std::int64_t rows, std::int64_t bytes, std::int64_t stride,
               std::int64_t steps) {
  const std::int64_t lines = rows * ((bytes + 63) / 64);
  return {static_cast<const char*>(from), rows, bytes, stride, 0, (lines + steps - 1) / steps};
}

template <bool write>
AMX_INLINE void fetch_ahead(Ahead& a) {
  for (std::int64_t i = 0; i < a.a_step && a.rows > 0; ++i) {
    if constexpr (write) {
      __builtin_prefetch(a.row + a.at, 1, 3);
    } else {
      _mm_prefetch(a.row + a.at, _MM_HINT_T1);
    }
    a.at += 64;
    if (a.at < a.bytes) continue;
    a.at = 0;
    a.row += a.stride;
    --a.rows;
  }
}

template <class Out>
struct SideWork {
  Ahead left, right, out;
  BlockOut<Out> done{};  // the block whose sums are complete
  std::int64_t written = 0;
  std::int64_t rows_a_step = 4;
  std::int64_t blocks = 0;
};

template <class Out>
AMX_INLINE void write_rows(SideWork<Out>& side, std::int64_t count) {
  const BlockOut<Out>& o = side.done;
  if (!o.flipped) {
    const std::int64_t end = std::min(side.written + count, o.rows);
    for (; side.written < end; ++side.written) write_row(o, side.written);
    return;
  }
  for (; count > 0 && side.written < o.rows; side.written += 16, count -= 16) {
    if constexpr (std::is_same_v<Out, Bf16>) {
      if (!o.add) {
        write_flipped_pairs(o, side.written / 16);
        continue;
      }
    }
    write_flipped(o, side.written / 16);
  }
}

template <class Out>
AMX_INLINE void work_beside(SideWork<Out>& side) {
  fetch_ahead<false>(side.left);
  fetch_ahead<false>(side.right);
  fetch_ahead<true>(side.out);
  if (side.written < side.done.rows) write_rows(side, side.rows_a_step);
}

// Multiplies `steps` steps of a left and a right panel. 1 or 2 of their tiles hold data. A left
// line is `stride` bytes from the next, a left step `step` values.
struct LeftPanel {
  const Bf16* from;
  std::int64_t stride, step;
};

template <int lefts, int rights, class Out>
AMX_VECTORS void multiply_panels(LeftPanel left, const Bf16* right, std::int64_t steps, float* sums,
                                 bool from_zero, SideWork<Out>& side) {
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
    _tile_loadd(4, left.from, left.stride);
    _tile_loadd(6, right, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (rights == 2) {
      _tile_loadd(7, right + tile_values, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (lefts == 2) {
      _tile_loadd(5, left.from + left.stride * 8, left.stride);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (lefts == 2 && rights == 2) _tile_dpbf16ps(3, 5, 7);
    left.from += left.step;
    right += step_values;
    work_beside(side);
  }
  _tile_stored(0, sums, 64);
  if constexpr (rights == 2) _tile_stored(1, sums + 256, 64);
  if constexpr (lefts == 2) _tile_stored(2, sums + 512, 64);
  if constexpr (lefts == 2 && rights == 2) _tile_stored(3, sums + 768, 64);
}

template <class Out>
using MultiplyPanels = void (*)(LeftPanel, const Bf16*, std::int64_t, float*, bool, SideWork<Out>&);

template <class Out>
MultiplyPanels<Out> panels_product(std::int64_t lefts, std::int64_t rights) {
  if (lefts > 16) return rights > 16 ? multiply_panels<2, 2, Out> : multiply_panels<2, 1, Out>;
  return rights > 16 ? multiply_panels<1, 2, Out> : multiply_panels<1, 1, Out>;
}

// --- The order of a product

constexpr std::size_t huge_page = std::size_t{1} << 21U;

struct AlignedBytes {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{huge_page}); }
};

// Grows and never shrinks. Huge pages, where the kernel gives them, spare address translations.
class PackBuffer {
 public:
  template <class T>
  T* at_least(std::int64_t count) {
    const auto bytes =
        (static_cast<std::size_t>(count) * sizeof(T) + huge_page - 1) / huge_page * huge_page;
    if (bytes > size_) {
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{huge_page})));
      madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // only advice; failure is harmless
      size_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  std::unique_ptr<std::byte[], AlignedBytes> memory_;
  std::size_t size_ = 0;
};

// Right lines are divided into groups, and k into chunks, for which a right group is packed. If
// there are several chunks, left lines are divided into groups whose sums are kept between them. A
// chunk is divided into slices.
struct AmxOrder {
  std::int64_t steps, rights, lefts;            // in all
  std::int64_t right_group, left_group, chunk;  // panels, panels, steps
};

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class Out>
struct AmxProduct {
  AmxOperand left, right;
  Out* c;
  std::int64_t ldc;
  const Bf16* bias;
  bool add, flipped;
};

AmxOrder order_of(const AmxOperand& left, const AmxOperand& right) {
  AmxOrder o{};
  o.steps = ceiling(right.depth, step_depth);
  o.rights = ceiling(right.lines, panel);
  o.lefts = ceiling(left.lines, panel);
  o.right_group = std::min(o.rights, most_rights);
  o.chunk = std::min(o.steps, most_packed_steps / o.right_group / slice_steps * slice_steps);
  o.left_group = o.chunk == o.steps ? o.lefts : std::min(o.lefts, most_kept_blocks / o.right_group);
  return o;
}

struct Buffers {
  Bf16 *right, *left;
  float *sums, *bias;
};

// A range of right panels, left panels or steps.
struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

// The memory that holds `lines` and `steps` of an operand.
Ahead ahead_in(const AmxOperand& o, Range panels, Range steps, std::int64_t tile_steps) {
  const std::int64_t line = panels.begin * panel, k = steps.begin * step_depth;
  const std::int64_t lines = std::min(panels.end * panel, o.lines) - line;
  const std::int64_t depth = std::min(steps.end * step_depth, o.depth) - k;
  if (lines <= 0 || depth <= 0) return {};
  const auto bytes = static_cast<std::int64_t>(sizeof(Bf16));
  if (o.along_k) {
    return ahead_of(o.from + line * o.stride + k, lines, depth * bytes, o.stride * bytes,
                    tile_steps);
  }
  return ahead_of(o.from + k * o.stride + line, depth, lines * bytes, o.stride * bytes, tile_steps);
}

template <class Out>
BlockOut<Out> block_of(const AmxProduct<Out>& p, std::int64_t left, std::int64_t right) {
  const std::int64_t row = (p.flipped ? right : left) * panel;
  const std::int64_t column = (p.flipped ? left : right) * panel;
  const std::int64_t rows = p.flipped ? p.right.lines : p.left.lines;
  const std::int64_t columns = p.flipped ? p.left.lines : p.right.lines;
  BlockOut<Out> o;
  o.c = p.c + row * p.ldc + column;
  o.ldc = p.ldc;
  o.rows = std::min(panel, rows - row);
  o.columns = std::min(panel, columns - column);
  o.bias = p.bias == nullptr ? nullptr : p.bias + column;
  o.add = p.add;
  o.flipped = p.flipped;
  return o;
}

// Left lines whose values of k are contiguous are read where they are, if no tile crosses an end.
template <class Out>
AMX_VECTORS LeftPanel left_panel(const AmxProduct<Out>& p, std::int64_t left, Range steps,
                                 Bf16* to) {
  const AmxOperand& o = p.left;
  const bool whole = (left + 1) * panel <= o.lines && steps.end * step_depth <= o.depth;
  const bool spread = o.stride % crowded_stride != 0;
  if (o.along_k && whole && spread) {
    return {o.from + left * panel * o.stride + steps.begin * step_depth,
            o.stride * static_cast<std::int64_t>(sizeof(Bf16)), step_depth};
  }
  const PackStep pack = pack_step_of(o);
  for (std::int64_t s = steps.begin; s < steps.end; ++s) {
    pack(o, left * panel, s * step_depth, to + (s - steps.begin) * step_values);
  }
  return {to, 64, step_values};
}

// The products of one left panel with a packed right group, for one chunk of k.
template <class Out>
AMX_VECTORS void multiply_left(const AmxProduct<Out>& p, const AmxOrder& order, std::int64_t left,
                               Range rights, Range chunk, const Buffers& buffers, float* sums,
                               SideWork<Out>& side) {
  const bool one_slice = order.steps <= slice_steps;
  const std::int64_t lefts = std::min(panel, p.left.lines - left * panel);
  for (std::int64_t begin = chunk.begin; begin < chunk.end; begin += slice_steps) {
    const Range steps{begin, std::min(begin + slice_steps, chunk.end)};
    const LeftPanel from = left_panel(p, left, steps, buffers.left);
    const Bf16* packed = buffers.right + (begin - chunk.begin) * rights.size() * step_values;
    for (std::int64_t r = rights.begin; r < rights.end; ++r) {
      const std::int64_t place = one_slice ? side.blocks++ % 2 : r - rights.begin;
      float* block = sums + place * block_sums;
      const std::int64_t lines = std::min(panel, p.right.lines - r * panel);
      panels_product<Out>(lefts, lines)(from, packed, steps.size(), block, begin == 0, side);
      write_rows(side, panel);
      packed += steps.size() * step_values;
      if (steps.end < order.steps) continue;
      side.done = block_of(p, left, r);
      side.done.sums = block;
      side.done.wide_bias = buffers.bias + left % 2 * panel;
      side.written = 0;
      if (rights.size() == 1) write_rows(side, panel);  // the next left panel's sums replace these
    }
  }
}

template <class Out>
void widen_bias(const AmxProduct<Out>& p, std::int64_t left, float* to) {
  for (std::int64_t i = 0; i < panel; ++i) {
    const std::int64_t column = left * panel + i;
    to[i] = p.bias != nullptr && column < p.left.lines ? to_float(p.bias[column]) : 0.0F;
  }
}

template <class Out>
AMX_VECTORS void multiply_chunk(const AmxProduct<Out>& p, const AmxOrder& order, Range rights,
                                Range lefts, Range chunk, const Buffers& buffers) {
  const PackStep pack = pack_step_of(p.right);
  Bf16* to = buffers.right;  // in the order of use: slices, then panels, then steps
  for (std::int64_t begin = chunk.begin; begin < chunk.end; begin += slice_steps) {
    const std::int64_t end = std::min(begin + slice_steps, chunk.end);
    if (p.right.along_k) {
      for (std::int64_t r = rights.begin; r < rights.end; ++r) {
        for (std::int64_t s = begin; s < end; ++s, to += step_values) {
          pack(p.right, r * panel, s * step_depth, to);
        }
      }
    } else {  // in the order of memory
      for (std::int64_t s = begin; s < end; ++s) {
        for (std::int64_t r = 0; r < rights.size(); ++r) {
          pack(p.right, (rights.begin + r) * panel, s * step_depth,
               to + (r * (end - begin) + s - begin) * step_values);
        }
      }
      to += rights.size() * (end - begin) * step_values;
    }
  }
  const std::int64_t left_steps = rights.size() * chunk.size();
  SideWork<Out> side;
  side.rows_a_step = p.flipped ? 16 : ceiling(panel, std::min(chunk.size(), slice_steps));
  side.right =
      ahead_in(p.right, rights, {chunk.end, chunk.end + order.chunk}, lefts.size() * left_steps);
  for (std::int64_t left = lefts.begin; left < lefts.end; ++left) {
    float* sums = buffers.sums;
    if (order.chunk < order.steps) sums += (left - lefts.begin) * rights.size() * block_sums;
    if (p.flipped) widen_bias(p, left, buffers.bias + left % 2 * panel);
    side.left = ahead_in(p.left, {left + 1, left + 2}, chunk, left_steps);
    if (chunk.end == order.steps && left + 1 < lefts.end) {
      const BlockOut<Out> o = block_of(p, left + 1, rights.begin);
      const std::int64_t lines = std::min(rights.end * panel, p.right.lines) - rights.begin * panel;
      const auto bytes = static_cast<std::int64_t>(sizeof(Out));
      side.out = ahead_of(o.c, p.flipped ? lines : o.rows, (p.flipped ? o.columns : lines) * bytes,
                          o.ldc * bytes, left_steps);
    } else {
      side.out = {};
    }
    multiply_left(p, order, left, rights, chunk, buffers, sums, side);
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

template <class Out>
AMX_VECTORS void run_amx(const AmxProduct<Out>& p, PackBuffer& memory) {
  const AmxOrder order = order_of(p.left, p.right);
  const std::int64_t kept = order.chunk < order.steps ? order.left_group : 1;
  const std::int64_t sums = std::max<std::int64_t>(2, kept * order.right_group) * block_sums;
  const std::int64_t packed = order.right_group * order.chunk * step_values;
  const std::int64_t left = slice_steps * step_values;
  Buffers b{};
  b.left = memory.at_least<Bf16>(left + packed + 2 * sums + 4 * panel);
  b.right = b.left + left;
  b.sums = reinterpret_cast<float*>(b.right + packed);
  b.bias = b.sums + sums;
  const TileShapes shapes;
  asm volatile("" : : "r"(&shapes) : "memory");  // GCC takes the intrinsic for a read of 8 bytes
  _tile_loadconfig(&shapes);
  for (std::int64_t r = 0; r < order.rights; r += order.right_group) {
    const Range rights{r, std::min(r + order.right_group, order.rights)};
    for (std::int64_t l = 0; l < order.lefts; l += order.left_group) {
      const Range lefts{l, std::min(l + order.left_group, order.lefts)};
      for (std::int64_t k = 0; k < order.steps; k += order.chunk) {
        multiply_chunk(p, order, rights, lefts, {k, std::min(k + order.chunk, order.steps)}, b);
      }
    }
  }
  _tile_release();
}

}  // namespace

bool amx_gemm_runs_here() {
  static const bool here = [] {
    if (isa_limit() || available_isas().back() != Isa::avx512) return false;
    if (!cpu_features().avx512_bf16 || !cpu_features().amx_bf16) return false;
    constexpr long request_permission = 0x1023;  // arch_prctl(2)
    constexpr long tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return here;
}

template <class Out>
void amx_gemm(const MatmulShape& s, const Bf16* a, const Bf16* b, Out* c, const Bf16* bias,
              bool add) {
  thread_local PackBuffer memory;
  const AmxOperand rows{a, s.lda, s.m, s.k, !s.transpose_a, true};
  const AmxOperand columns{b, s.ldb, s.n, s.k, s.transpose_b, false};
  // Left lines need no packing if their values of k are contiguous. The larger operand takes that
  // side if it may.
  const bool flipped = columns.along_k && (!rows.along_k || columns.lines > rows.lines);
  AmxOperand left = flipped ? columns : rows;
  AmxOperand right = flipped ? rows : columns;
  left.left = true;
  right.left = false;
  run_amx(AmxProduct<Out>{left, right, c, s.ldc, bias, add, flipped}, memory);
}

template void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*, bool);
template void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, float*, const Bf16*, bool);

}  // namespace stepscope::nn

#else

#include "stepscope/base/result.h"

namespace stepscope::nn {

bool amx_gemm_runs_here() { return false; }

template <class Out>
void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, Out*, const Bf16*, bool) {
  check(false, "AMX is of x86-64 only");
}

template void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*, bool);
template void amx_gemm(const MatmulShape&, const Bf16*, const Bf16*, float*, const Bf16*, bool);

}  // namespace stepscope::nn

#endif

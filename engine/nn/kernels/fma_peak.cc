// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/fma_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <arm_neon.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "stepscope/base/isa.h"

namespace stepscope::nn {
namespace {

// More chains than latency times ports (4 * 2 for AVX-512), but fewer than registers.
constexpr std::size_t chains = 12;

// Runs `rounds` of `chains` dependent multiply-adds. The result depends on all of them.
using Loop = float (*)(std::int64_t rounds);

struct Kernel {
  Loop loop;
  double flops;  // of one instruction
  std::string_view instructions;
};

// Unequal values, so that the compiler cannot merge chains.
template <class R>
std::array<R, chains> some() {
  std::array<R, chains> sum;
  std::array<float, sizeof(sum) / sizeof(float)> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::memcpy(sum.data(), values.data(), sizeof(values));
  return sum;
}

template <class R>
float first_of(const std::array<R, chains>& sum) {
  float all = 0;
  for (const R& s : sum) {
    float value = 0;
    std::memcpy(&value, &s, sizeof(value));
    all += value;
  }
  return all;
}

#if defined(__x86_64__)
struct Register128 {
  __m128 value;
};
struct Register256 {
  __m256 value;
};
struct Register512 {
  __m512 value;
};

__attribute__((target("sse2"))) float sse2_f32(std::int64_t rounds) {
  std::array<Register128, chains> sum = some<Register128>();
  const __m128 a = _mm_set1_ps(0.999F);
  const __m128 b = _mm_set1_ps(0.001F);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) s.value = _mm_add_ps(_mm_mul_ps(s.value, a), b);
  }
  return first_of(sum);
}

__attribute__((target("avx2,fma"))) float avx2_f32(std::int64_t rounds) {
  std::array<Register256, chains> sum = some<Register256>();
  const __m256 a = _mm256_set1_ps(0.999F);
  const __m256 b = _mm256_set1_ps(0.001F);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) s.value = _mm256_fmadd_ps(s.value, a, b);
  }
  return first_of(sum);
}

__attribute__((target("avx512f"))) float avx512_f32(std::int64_t rounds) {
  std::array<Register512, chains> sum = some<Register512>();
  const __m512 a = _mm512_set1_ps(0.999F);
  const __m512 b = _mm512_set1_ps(0.001F);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) s.value = _mm512_fmadd_ps(s.value, a, b);
  }
  return first_of(sum);
}

__attribute__((target("avx512f,avx512vl,avx512bf16"))) float avx512_bf16(std::int64_t rounds) {
  std::array<Register512, chains> sum = some<Register512>();
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.5F));
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) s.value = _mm512_dpbf16_ps(s.value, a, a);
  }
  return first_of(sum);
}

// Four sums of 16 x 16; each adds the product of two tiles of 16 rows of 32 values.
__attribute__((target("amx-tile,amx-bf16"))) float amx_bf16(std::int64_t rounds) {
  struct alignas(64) {
    std::uint8_t palette = 1;
    std::array<std::uint8_t, 15> start_and_reserved{};
    std::array<std::uint16_t, 16> row_bytes{};
    std::array<std::uint8_t, 16> rows{};
  } shape;
  static_assert(sizeof(shape) == 64);
  std::ranges::fill_n(shape.row_bytes.begin(), 8, std::uint16_t{64});
  std::ranges::fill_n(shape.rows.begin(), 8, std::uint8_t{16});
  _tile_loadconfig(&shape);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < chains / 4; ++i) {
      _tile_dpbf16ps(0, 4, 5);
      _tile_dpbf16ps(1, 4, 5);
      _tile_dpbf16ps(2, 4, 5);
      _tile_dpbf16ps(3, 4, 5);
    }
  }
  alignas(64) std::array<float, 256> out{};
  _tile_stored(0, out.data(), 64);
  _tile_release();
  return out[0];
}

// The CPU has the tiles, and the kernel lets this process use them (arch_prctl(2)).
bool may_use_amx() {
  if (!cpu_features().amx_bf16) return false;
  constexpr long request_permission = 0x1023;
  constexpr long tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#else
float neon_f32(std::int64_t rounds) {
  struct Register {
    float32x4_t value;
  };
  std::array<Register, chains> sum = some<Register>();
  const float32x4_t a = vdupq_n_f32(0.999F);
  const float32x4_t b = vdupq_n_f32(0.001F);
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) s.value = vfmaq_f32(b, s.value, a);
  }
  return first_of(sum);
}
#endif

#if defined(__x86_64__)
std::optional<Kernel> widest(ElementType type) {
  const Isa level = available_isas().back();
  if (type == ElementType::f32) {
    if (level == Isa::avx512) return Kernel{avx512_f32, 32, "AVX-512"};
    if (level == Isa::avx2) return Kernel{avx2_f32, 16, "AVX2"};
    return Kernel{sse2_f32, 8, "SSE2"};
  }
  if (type != ElementType::bf16) return std::nullopt;
  if (!isa_limit() && may_use_amx()) return Kernel{amx_bf16, 2.0 * 16 * 16 * 32, "AMX"};
  if (level == Isa::avx512 && cpu_features().avx512_bf16)
    return Kernel{avx512_bf16, 64, "AVX512_BF16"};
  return std::nullopt;
}
#else
std::optional<Kernel> widest(ElementType type) {
  if (type != ElementType::f32) return std::nullopt;
  return Kernel{neon_f32, 8, "NEON"};
}
#endif

}  // namespace

std::optional<FmaPeak> fma_peak(ElementType type, Ns duration) {
  const std::optional<Kernel> kernel = widest(type);
  if (!kernel) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t rounds = 20000;  // far shorter than a scheduler's time slice
  double best = 0;
  double flops = 0;
  std::chrono::duration<double> all{};
  const Clock::time_point end = Clock::now() + duration;
  volatile float sink = 0;
  do {
    const Clock::time_point begin = Clock::now();
    sink = kernel->loop(rounds);
    const std::chrono::duration<double> took = Clock::now() - begin;
    const double done = static_cast<double>(rounds * chains) * kernel->flops;
    best = std::max(best, done / took.count());
    flops += done;
    all += took;
  } while (Clock::now() < end);
  static_cast<void>(sink);
  return FmaPeak{FlopRate{best}, FlopRate{flops / all.count()}, kernel->instructions};
}

}  // namespace stepscope::nn

// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/collectives/reduce.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/comm/communicator/copy.h"
#include "stepscope/base/isa.h"

namespace stepscope::comm {
namespace {

// A block of the result is kept in the first-level cache while the sources pass by.
constexpr std::size_t block_elements = 1024;

// The type in which elements are summed.
template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<Bf16> {
  using Type = float;
};
template <>
struct Wide<std::int64_t> {
  using Type = std::uint64_t;  // wraps around without overflow
};

template <Reduction reduction, class T, class W>
[[gnu::always_inline]] inline W combine(W a, W b) {
  if constexpr (reduction == Reduction::sum) return static_cast<W>(a + b);
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const auto x = static_cast<std::int64_t>(a);
    const auto y = static_cast<std::int64_t>(b);
    return reduction == Reduction::max ? (x < y ? b : a) : (y < x ? b : a);
  }
  if constexpr (reduction == Reduction::max) return a < b ? b : a;
  return b < a ? b : a;
}

template <class T>
[[gnu::always_inline]] inline typename Wide<T>::Type widen(const std::byte* from, std::size_t i) {
  T value{};
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  if constexpr (std::is_same_v<T, Bf16>) {
    return to_float(value);
  } else {
    return static_cast<typename Wide<T>::Type>(value);
  }
}

template <class T, Reduction reduction>
[[gnu::always_inline]] inline void reduce_block(std::span<const std::byte* const> sources,
                                                std::size_t first, std::size_t count,
                                                std::byte* result) {
  using W = typename Wide<T>::Type;
  alignas(64) std::array<W, block_elements> sum;
  const std::size_t offset = first * sizeof(T);
  const std::byte* a = sources[0] + offset;
  if (sources.size() == 1) {
    for (std::size_t i = 0; i < count; ++i) sum[i] = widen<T>(a, i);
  } else {
    const std::byte* b = sources[1] + offset;
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = combine<reduction, T, W>(widen<T>(a, i), widen<T>(b, i));
    }
  }
  for (std::size_t s = 2; s < sources.size(); ++s) {
    const std::byte* next = sources[s] + offset;
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = combine<reduction, T, W>(sum[i], widen<T>(next, i));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    T value{};
    if constexpr (std::is_same_v<T, Bf16>) {
      value = to_bf16(sum[i]);
    } else {
      value = static_cast<T>(sum[i]);
    }
    std::memcpy(result + i * sizeof(T), &value, sizeof(T));
  }
}

struct Job {
  std::span<const std::byte* const> sources;
  std::byte* out;
  std::size_t elements;
  bool streaming;
};

template <class T, Reduction reduction>
[[gnu::always_inline]] inline void reduce_all(const Job& job) {
  alignas(64) std::array<std::byte, block_elements * sizeof(T)> block;
  for (std::size_t first = 0; first < job.elements; first += block_elements) {
    const std::size_t left = job.elements - first;
    const std::size_t count = left < block_elements ? left : block_elements;
    std::byte* to = job.out + first * sizeof(T);
    if (job.streaming) {
      reduce_block<T, reduction>(job.sources, first, count, block.data());
      copy_streaming(to, block.data(), count * sizeof(T));
    } else {
      reduce_block<T, reduction>(job.sources, first, count, to);
    }
  }
}

template <class T, Reduction reduction>
STEPSCOPE_TARGET("avx512f,avx512bw,avx512dq,avx512vl")
void reduce_avx512(const Job& job) {
  reduce_all<T, reduction>(job);
}
template <class T, Reduction reduction>
STEPSCOPE_TARGET("avx2")
void reduce_avx2(const Job& job) {
  reduce_all<T, reduction>(job);
}
template <class T, Reduction reduction>
void reduce_sse2(const Job& job) {
  reduce_all<T, reduction>(job);
}

template <class T, Reduction reduction>
void reduce_widest(const Job& job) {
  static const Isa level = available_isas().back();
  if (level == Isa::avx512) return reduce_avx512<T, reduction>(job);
  if (level == Isa::avx2) return reduce_avx2<T, reduction>(job);
  reduce_sse2<T, reduction>(job);
}

template <class T>
void reduce_type(Reduction reduction, std::span<const std::byte* const> sources, std::byte* out,
                 std::size_t bytes, bool streaming) {
  const Job job{sources, out, bytes / sizeof(T), streaming};
  if (reduction == Reduction::sum) return reduce_widest<T, Reduction::sum>(job);
  if (reduction == Reduction::max) return reduce_widest<T, Reduction::max>(job);
  reduce_widest<T, Reduction::min>(job);
}

}  // namespace

void reduce_in_order(ElementType type, Reduction reduction,
                     std::span<const std::byte* const> sources, std::byte* out, std::size_t bytes,
                     bool streaming) {
  switch (type) {
    case ElementType::f32:
      return reduce_type<float>(reduction, sources, out, bytes, streaming);
    case ElementType::bf16:
      return reduce_type<Bf16>(reduction, sources, out, bytes, streaming);
    case ElementType::f64:
      return reduce_type<double>(reduction, sources, out, bytes, streaming);
    case ElementType::i64:
      return reduce_type<std::int64_t>(reduction, sources, out, bytes, streaming);
    case ElementType::u8:
      return reduce_type<std::uint8_t>(reduction, sources, out, bytes, streaming);
  }
}

}  // namespace stepscope::comm

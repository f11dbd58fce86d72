// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/communicator/copy.h"

#include <cstdint>
#include <cstring>

#include "stepscope/base/isa.h"

namespace stepscope::comm {
namespace {

constexpr std::size_t line_bytes = 64;

#if defined(__x86_64__)
STEPSCOPE_TARGET("avx512f")
void lines_avx512(std::byte* to, const std::byte* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i * line_bytes),
                        _mm512_loadu_si512(from + i * line_bytes));
  }
}

STEPSCOPE_TARGET("avx2") void lines_avx2(std::byte* to, const std::byte* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    const auto* source = reinterpret_cast<const __m256i*>(from + i * line_bytes);
    auto* target = reinterpret_cast<__m256i*>(to + i * line_bytes);
    const __m256i low = _mm256_loadu_si256(source);
    const __m256i high = _mm256_loadu_si256(source + 1);
    _mm256_stream_si256(target, low);
    _mm256_stream_si256(target + 1, high);
  }
}

#endif

void lines_sse2(std::byte* to, const std::byte* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    const auto* source = reinterpret_cast<const __m128i*>(from + i * line_bytes);
    auto* target = reinterpret_cast<__m128i*>(to + i * line_bytes);
    for (int part = 0; part < 4; ++part) {
      _mm_stream_si128(target + part, _mm_loadu_si128(source + part));
    }
  }
}

using CopyLines = void (*)(std::byte*, const std::byte*, std::size_t);

CopyLines widest() {
#if defined(__x86_64__)
  const Isa level = available_isas().back();
  if (level == Isa::avx512) return lines_avx512;
  if (level == Isa::avx2) return lines_avx2;
#endif
  return lines_sse2;
}

}  // namespace

void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
  static const CopyLines copy_lines = widest();
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  const std::size_t head = misaligned == 0 ? 0 : line_bytes - misaligned;
  if (bytes <= head + line_bytes) return copy_cached(to, from, bytes);
  std::memcpy(to, from, head);
  const std::size_t lines = (bytes - head) / line_bytes;
  copy_lines(to + head, from + head, lines);
  const std::size_t done = head + lines * line_bytes;
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}

void copy_cached(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace stepscope::comm

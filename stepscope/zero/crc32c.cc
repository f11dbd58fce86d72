// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace stepscope::zero {
namespace {

// Row k: the checksum of a byte followed by k zero bytes.
constexpr auto rows = [] {
  constexpr std::uint32_t polynomial = 0x82f63b78U;  // reflected
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1U) ^ ((c & 1U) != 0 ? polynomial : 0U);
    t[0][i] = c;
  }
  for (std::size_t k = 1; k < t.size(); ++k) {
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8U) ^ t[0][t[k - 1][i] & 0xffU];
  }
  return t;
}();

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t before) {
  std::uint64_t c = ~before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    c = _mm_crc32_u64(c, word);
  }
  auto narrow = static_cast<std::uint32_t>(c);
  for (; left > 0; --left, ++at) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
  return ~narrow;
}

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t c = ~before;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    word ^= c;
    c = 0;
    for (std::size_t k = 0; k < 8; ++k) c ^= rows[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (; left > 0; --left, ++at)
    c = (c >> 8U) ^ rows[0][(c ^ std::to_integer<std::uint32_t>(*at)) & 0xffU];
  return ~c;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return has_instruction ? crc32c_sse42(bytes, before) : crc32c_portable(bytes, before);
}

}  // namespace stepscope::zero

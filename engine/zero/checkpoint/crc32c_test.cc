// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/crc32c.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace stepscope::zero {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The definition, bit by bit.
std::uint32_t by_bits(std::span<const std::byte> bytes) {
  std::uint32_t c = ~0U;
  for (const std::byte byte : bytes) {
    c ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1U) ^ ((c & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  return ~c;
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogues.
TEST(Crc32c, HasThePublishedValues) {
  std::array<std::byte, 32> block{};
  EXPECT_EQ(crc32c(block), 0x8a9136aaU);
  block.fill(std::byte{0xff});
  EXPECT_EQ(crc32c(block), 0x62a8ab43U);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(block), 0x46dd794eU);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc32c(block), 0x113fdb5cU);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, IsTheDefinitionsAndContinues) {
  std::vector<std::byte> data(1000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * i * 7 + i);
  const std::span<const std::byte> all(data);
  for (std::size_t first = 0; first < 20; ++first) {
    for (std::size_t n = 0; n < 60; ++n) {
      const auto part = all.subspan(first, n);
      EXPECT_EQ(crc32c(part), by_bits(part));
      EXPECT_EQ(crc32c(all.subspan(first + n), crc32c(part)), crc32c(all.subspan(first)));
    }
  }
}

}  // namespace
}  // namespace stepscope::zero

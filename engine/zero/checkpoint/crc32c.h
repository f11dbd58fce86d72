// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, appendix B.4) by ISA-L. It finds every error burst of up to 32
// bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stepscope::zero {

// The checksum of `bytes`, continued from the checksum of the bytes before them (0: none).
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace stepscope::zero

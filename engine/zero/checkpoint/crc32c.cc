// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace stepscope::zero {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  constexpr std::size_t max_part = std::size_t{1} << 30U;  // ISA-L takes the length as an int
  std::uint32_t inverted = ~before;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), max_part));
    // ISA-L only reads, but its parameter is not const.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(part.data()));
    inverted = crc32_iscsi(data, static_cast<int>(part.size()), inverted);
    bytes = bytes.subspan(part.size());
  }
  return ~inverted;
}

}  // namespace stepscope::zero

// SPDX-License-Identifier: Apache-2.0
// Philox-4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC'11): random bits are a function of a counter and a key, so any part of a sequence can be drawn
// alone.
#pragma once

#include <array>
#include <cstdint>

namespace stepscope::nn {

[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier1 = 0xCD9E8D57U;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter[0];
    const std::uint64_t product1 = multiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

// The bits of `index` in stream `stream` of `seed`.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(std::uint64_t seed,
                                                                std::uint64_t stream,
                                                                std::uint64_t index) {
  return philox4x32(std::array<std::uint32_t, 4>{static_cast<std::uint32_t>(index),
                                                 static_cast<std::uint32_t>(index >> 32U),
                                                 static_cast<std::uint32_t>(stream),
                                                 static_cast<std::uint32_t>(stream >> 32U)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)});
}

// Uniform in (0, 1], in steps of 2^-24.
[[nodiscard]] constexpr float unit_interval(std::uint32_t bits) {
  return static_cast<float>((bits >> 8U) + 1) * 0x1p-24F;
}

}  // namespace stepscope::nn

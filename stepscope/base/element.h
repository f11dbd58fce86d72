// SPDX-License-Identifier: Apache-2.0
// The element types of tensors and messages, and bfloat16.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope {

enum class ElementType : std::uint8_t { f32, bf16, f64, i64, u8 };
inline constexpr std::size_t element_type_count = 5;

[[nodiscard]] constexpr std::size_t element_bytes(ElementType type) {
  constexpr std::array<std::size_t, element_type_count> bytes = {4, 2, 8, 8, 1};
  return bytes[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::string_view element_name(ElementType type) {
  constexpr std::array<std::string_view, element_type_count> names = {"f32", "bf16", "f64", "i64",
                                                                      "u8"};
  return names[static_cast<std::size_t>(type)];
}

// bfloat16: the upper half of a float.
struct Bf16 {
  std::uint16_t bits = 0;
  constexpr bool operator==(const Bf16&) const = default;  // of the bits
};

// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
[[nodiscard]] constexpr Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  }
  const std::uint32_t even = (bits >> 16U) & 1U;
  return {static_cast<std::uint16_t>((bits + 0x7fffU + even) >> 16U)};
}
[[nodiscard]] constexpr float to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}

}  // namespace stepscope

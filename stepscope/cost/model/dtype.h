// SPDX-License-Identifier: Apache-2.0
// The number formats with a rate of their own on an accelerator, and their names in traces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

// fp32 is the rate of the vector units. tf32 is fp32 data on tensor cores; in a trace only the
// kernel's name shows it.
enum class Dtype : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::size_t dtype_count = 7;
inline constexpr std::array<std::string_view, dtype_count> dtype_names = {
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4"};
static_assert(dtype_names[static_cast<std::size_t>(Dtype::fp4)] == "fp4");

constexpr std::size_t index(Dtype d) { return static_cast<std::size_t>(d); }
constexpr std::string_view name(Dtype d) { return dtype_names[index(d)]; }
constexpr bool below_16_bits(Dtype d) { return d == Dtype::fp8 || d == Dtype::fp4; }

// Bytes of an operand of a product. In fp4 16 elements share a scale of 8 bits.
constexpr double operand_bytes(Dtype d) {
  if (d == Dtype::fp64) return 8;
  if (d == Dtype::fp32 || d == Dtype::tf32) return 4;
  if (d == Dtype::fp8) return 1;
  return d == Dtype::fp4 ? 4.5 / 8 : 2;
}

// Accepts a name above, or one of PyTorch's ("c10::BFloat16", "float", "Half", "Float8_e4m3fn",
// ...). Absent for integers and anything else.
[[nodiscard]] std::optional<Dtype> parse_dtype(std::string_view text);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The arguments of one operator call as the profiler recorded them with record_shapes: the parsed
// texts of "Input Dims", "Input type" and "Concrete Inputs". One entry per argument, in the order
// of the operator's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"

namespace stepscope {

enum class OperandFormat : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, other };
inline constexpr auto precision_names = enum_names<OperandFormat::other>;
inline constexpr std::size_t precision_count = precision_names.size();

using Dims = std::vector<std::int64_t>;

struct OpInput {
  Dims dims;  // of a tensor; empty for a scalar, a 0-dimensional tensor or an absent argument
  std::vector<Dims> list;  // of a list of tensors
  std::string type;  // "float", "c10::BFloat16", "Scalar", "ScalarList", "TensorList", "" (absent)
  std::string concrete;  // "False", "[1, 1]", "0.125"; "" if not recorded

  // True if the type is that of a tensor's elements.
  [[nodiscard]] bool is_tensor() const;
};

struct OpInputs {
  std::vector<OpInput> args;

  // Argument i as a tensor of at least `rank` dimensions; null if it is not one.
  [[nodiscard]] const Dims* tensor(std::size_t i, std::size_t rank = 0) const;
  [[nodiscard]] std::optional<bool> flag(std::size_t i) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t i) const;
  [[nodiscard]] std::optional<Dims> integers(std::size_t i) const;            // of "[1, 1]"
  [[nodiscard]] std::optional<std::vector<bool>> flags(std::size_t i) const;  // of "[True, False]"
  [[nodiscard]] std::string_view concrete(std::size_t i) const;               // "" if not recorded
};

// Empty if the texts are malformed or absent. Types and concrete values may be shorter than the
// dims or absent: many questions need only shapes.
[[nodiscard]] std::optional<OpInputs> parse_inputs(std::string_view dims, std::string_view types,
                                                   std::string_view concrete);

// Bytes of one element of a PyTorch C++ type name; empty if the name is not that of a tensor
// element.
[[nodiscard]] std::optional<std::int64_t> element_bytes(std::string_view type);
[[nodiscard]] OperandFormat precision_of(std::string_view type);

// Product of the dims, 1 for none; empty on overflow or a negative dim.
[[nodiscard]] std::optional<std::int64_t> element_count(const Dims& dims);

}  // namespace stepscope

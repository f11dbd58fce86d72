// SPDX-License-Identifier: Apache-2.0
// A double that may be absent, in eight bytes. std::optional<double> takes sixteen, which matters
// when millions of records hold a dozen. One NaN that no arithmetic produces means absent; all
// other NaNs, nan("") among them, are values.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

namespace stepscope {

class OptionalReal {
 public:
  constexpr OptionalReal() = default;
  constexpr OptionalReal(std::nullopt_t /*none*/) {}
  constexpr OptionalReal(double value) : bits_(std::bit_cast<std::uint64_t>(value)) {}
  constexpr OptionalReal(const std::optional<double>& value) {
    if (value) *this = *value;
  }

  [[nodiscard]] constexpr bool has_value() const { return bits_ != absent; }
  constexpr explicit operator bool() const { return has_value(); }
  // REQUIRES: the value is present.
  constexpr double operator*() const { return std::bit_cast<double>(bits_); }
  [[nodiscard]] constexpr double value_or(double other) const {
    return has_value() ? **this : other;
  }
  constexpr operator std::optional<double>() const {
    return has_value() ? std::optional(**this) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t absent = 0xFFF8'0000'5EED'0A65;
  std::uint64_t bits_ = absent;
};

}  // namespace stepscope

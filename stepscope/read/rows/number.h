// SPDX-License-Identifier: Apache-2.0
// Numbers as trace writers spell them: decimal microseconds that become exact nanoseconds (without
// doubles), integers, hexadecimal strings ("0x0"), booleans; quoted or bare. nullopt for text that
// is not a finite number ("inf", "nan", "").
#pragma once

#include <cstdint>
#include <optional>

#include "stepscope/base/quantity.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

// parse_microseconds() and parse_integer() without an optional, which a call returns through
// memory: that takes longer than the digits. `into` is unchanged if the result is false.
[[nodiscard]] bool read_microseconds(const RawValue& value, Ns& into);
[[nodiscard]] bool read_integer(const RawValue& value, std::int64_t& into);

// Decimal microseconds → nanoseconds. Digits beyond the third decimal are rounded, half away from
// zero. Exponents are supported.
[[nodiscard]] inline std::optional<Ns> parse_microseconds(const RawValue& value) {
  Ns time{};
  return read_microseconds(value, time) ? std::optional(time) : std::nullopt;
}
// An integer; a fraction is cut. Values beyond int64 wrap as two's complement if they fit uint64,
// else nullopt.
[[nodiscard]] inline std::optional<std::int64_t> parse_integer(const RawValue& value) {
  std::int64_t number = 0;
  return read_integer(value, number) ? std::optional(number) : std::nullopt;
}
// A finite number, or nullopt.
[[nodiscard]] std::optional<double> parse_real(const RawValue& value);

}  // namespace stepscope

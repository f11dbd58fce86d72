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

// Decimal microseconds → nanoseconds. Digits beyond the third decimal are rounded, half away from
// zero. Exponents are supported.
[[nodiscard]] std::optional<Ns> parse_microseconds(const RawValue& value);
// An integer; a fraction is cut. Values beyond int64 wrap as two's complement if they fit uint64,
// else nullopt.
[[nodiscard]] std::optional<std::int64_t> parse_integer(const RawValue& value);
// A finite number, or nullopt.
[[nodiscard]] std::optional<double> parse_real(const RawValue& value);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Numbers as trace writers spell them: decimal microseconds that become exact nanoseconds (no
// double in between), integers, hexadecimal strings ("0x0"), booleans. Quoted or bare. nullopt for
// what is no finite number ("inf", "nan", "").
#pragma once

#include <cstdint>
#include <optional>

#include "stepscope/base/quantity.h"
#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

// Decimal microseconds → nanoseconds. Digits beyond the third decimal round half away from zero; an
// exponent is honoured.
[[nodiscard]] std::optional<Ns> parse_microseconds(const RawValue& value);
// An integer; a fraction is cut. Values beyond int64 wrap as two's complement when they fit uint64,
// else nullopt.
[[nodiscard]] std::optional<std::int64_t> parse_integer(const RawValue& value);
// A finite number, or nullopt.
[[nodiscard]] std::optional<double> parse_real(const RawValue& value);

}  // namespace stepscope

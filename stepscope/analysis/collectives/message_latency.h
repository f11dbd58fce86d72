// SPDX-License-Identifier: Apache-2.0
// What a message takes however small it is: the intercept of time over size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "stepscope/base/quantity.h"

namespace stepscope {

// Times by message size in bytes: the shortest, or the median, of each size.
using TimesOfSizes = std::map<std::int64_t, Ns>;

// The line through the smallest and the largest size at zero bytes, between zero and the time of
// the smallest. Empty unless the largest is at least twice the smallest: one size cannot tell
// latency from bandwidth.
[[nodiscard]] std::optional<Ns> latency_of(const TimesOfSizes& times);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Rounds shares of a total in ns to whole numbers that still add up to the total.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepscope {

// Rounds each part down or up (by less than one). The results sum to the parts' sum rounded to the
// nearest whole number; the largest remainders are rounded up (Hamilton's method). Whole parts do
// not change; parts may be negative. Sums beyond 2^52 are already inexact in the input.
[[nodiscard]] std::vector<std::int64_t> round_to_sum(std::span<const double> parts);

}  // namespace stepscope

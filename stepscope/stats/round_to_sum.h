// SPDX-License-Identifier: Apache-2.0
// Whole numbers that still add up: shares of a total in ns, rounded so that nothing is lost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepscope {

// The parts rounded down or up (each by less than one) so that they sum to the parts' sum rounded
// to the nearest whole number: the largest remainders are rounded up (Hamilton's method). Whole
// parts stay as they are; parts may be negative. Sums beyond 2^52 lose exactness before they come
// here.
[[nodiscard]] std::vector<std::int64_t> round_to_sum(std::span<const double> parts);

}  // namespace stepscope

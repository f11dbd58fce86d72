// SPDX-License-Identifier: Apache-2.0
// The cheapest assignment of n rows to n columns: the Hungarian method with potentials (Kuhn 1955,
// Munkres 1957), by shortest augmenting paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

inline constexpr std::int64_t no_assignment = std::numeric_limits<std::int64_t>::max();

// The column of each row. `cost[row * n + column]`: at least 0, or no_assignment; sums must fit.
// Absent if there is no assignment. O(n³).
[[nodiscard]] std::optional<std::vector<std::size_t>> cheapest_assignment(
    std::span<const std::int64_t> cost, std::size_t n);

}  // namespace stepscope

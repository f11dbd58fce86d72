// SPDX-License-Identifier: Apache-2.0
// Adjusts the p-values of many tests: of the tests with a rate below q, at most a share q is
// expected to be false (Benjamini and Hochberg, 1995).
#pragma once

#include <span>
#include <vector>

namespace stepscope {

// Parallel to `p`: the least q at which each test is significant, p (m / rank) made monotone.
[[nodiscard]] std::vector<double> false_discovery_rates(std::span<const double> p);

}  // namespace stepscope

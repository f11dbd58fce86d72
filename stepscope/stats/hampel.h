// SPDX-License-Identifier: Apache-2.0
// Which values stand apart from the others (Hampel's rule): further from the median than k robust
// standard deviations, 1.4826 x the median absolute deviation. Unlike one by mean and deviation the
// rule is not blinded by what it looks for.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct HampelLimits {
  double median = 0;
  double deviation = 0;  // robust; of the mean absolute one where half of the values are equal
  double low = 0;
  double high = 0;
};

// Absent for no values. All values equal: both limits are that value.
[[nodiscard]] std::optional<HampelLimits> hampel_limits(std::span<const double> values,
                                                        double k = 3);

// The values, those beyond the limits moved onto them.
[[nodiscard]] std::vector<double> clipped(std::span<const double> values,
                                          const HampelLimits& limits);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// How many values at the start of a series do not belong to what follows.
#pragma once

#include <cstddef>
#include <span>

namespace stepscope {

struct WarmUp {
  std::size_t count = 0;   // leading values to leave out, at most half
  bool unsettled = false;  // no end is in sight: the best cut is the middle; none is made there
};

// Two rules, whichever leaves out more. Slow first steps: the leading values above the median of
// the second half by more than 6 of its robust deviations and a twentieth. A change point: MSER-5
// (White, 1997) on medians of five, where the part before it differs from the rest by more than
// five standard errors that know the autocorrelation, and by half a percent. Positive values in
// time order; none are left out of fewer than 4. O(n).
[[nodiscard]] WarmUp find_warm_up(std::span<const double> values);

}  // namespace stepscope

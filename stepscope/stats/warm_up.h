// SPDX-License-Identifier: Apache-2.0
// The number of warm-up values at the start of a series.
#pragma once

#include <cstddef>
#include <span>

namespace stepscope {

struct WarmUp {
  std::size_t count = 0;   // leading values to leave out, at most half
  bool unsettled = false;  // no end in sight: the best cut is the middle, so no cut is made
};

// Two rules; the one that leaves out more is used. Slow first steps: the leading values that
// exceed the median of the second half by more than 6 of its robust deviations and by a
// twentieth, or by half where the second half has fewer than 4 values, which show no deviation.
// A slow begin: MSER-5 (White, 1997) on medians of five. Its cut is used if the part before is
// slower than the rest by half a percent and by more than five standard errors that account for
// autocorrelation. Warm-up is slow and short: eight values or more lose a third of their excess
// between their first quarter and their second, and are a quarter of all at most. A plateau or a
// faster begin is a change of level, which find_changes() shows. With three values the first is
// left out if it is more than twice the two others, which are alike. Values are positive and in
// time order. With fewer than 3 values no value is left out. O(n).
[[nodiscard]] WarmUp find_warm_up(std::span<const double> values);

}  // namespace stepscope

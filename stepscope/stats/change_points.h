// SPDX-License-Identifier: Apache-2.0
// Lasting changes of the level of a series. Seeded binary segmentation (Kovacs, Buehlmann, Li
// and Munk, 2023) looks at intervals of many lengths. The split of an interval has the largest
// standardised difference of means, with values beyond Hampel's limits moved onto the limits. If
// few values are far from the levels on both sides of the split, limits around these levels are
// used. So a single value of any size hides no change. It is a change if Student's t is
// significant and the medians differ by `least`. The t has a standard error and degrees of
// freedom that account for autocorrelation (long_run.h). The shortest interval that shows a
// change is used, because it holds no other. Each change is then tested again between the
// stretches on both sides. A level that drifts has too few degrees of freedom for that: there a
// jump counts that is 20 times the noise of neighbours. The stretches must keep half of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stepscope {

struct ChangePoint {
  std::size_t at = 0;  // first value of the new level
  double before = 0;   // medians of the stretches on both sides, up to the next changes
  double after = 0;
  double p = 1;  // of Student's t between the stretches, not corrected for the search
};

struct ChangeOptions {
  double least = 0.01;       // as a share of the level before
  std::size_t shortest = 8;  // values in a stretch
  double p = 1e-6;           // of one split; the search tries many
};

// The changes in time order. REQUIRES: positive values. O(n log n) per change. A series of more
// than 4096 values is first reduced to medians of neighbours.
[[nodiscard]] std::vector<ChangePoint> find_changes(std::span<const double> values,
                                                    const ChangeOptions& options = {});

}  // namespace stepscope

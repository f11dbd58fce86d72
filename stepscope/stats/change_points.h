// SPDX-License-Identifier: Apache-2.0
// Where the level of a series changes for good. In intervals of many lengths (seeded binary
// segmentation: Kovacs, Buehlmann, Li and Munk, 2023) the best split is the one with the largest
// standardised difference of means, values beyond Hampel's limits moved onto them. It is a change
// where Student's t, with a standard error and degrees of freedom that know the autocorrelation
// (long_run.h), is too large for chance and the medians differ by `least`; the shortest interval
// that shows one counts, as it holds no other. Each change is then held against the stretches on
// both sides once more.
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
  double least = 0.01;       // share of the level before
  std::size_t shortest = 8;  // values of a stretch
  double p = 1e-6;           // of one split; the search tries many
};

// In time order. Positive values. O(n log n) a change; a series of more than 4096 is looked at by
// medians of as many neighbours as make it shorter.
[[nodiscard]] std::vector<ChangePoint> find_changes(std::span<const double> values,
                                                    const ChangeOptions& options = {});

}  // namespace stepscope

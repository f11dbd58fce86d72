// SPDX-License-Identifier: Apache-2.0
// Whether the level of a series rises or falls slowly from one end to the other, as no single
// change of level says: the slope of a parabola by least squares, values beyond Hampel's limits
// around it moved onto them, against a standard error that knows the autocorrelation of what is
// left (long_run.h), by Student's t. A rise that flattens is one, too.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace stepscope {

struct Drift {
  double first = 0;  // the parabola at the first value
  double last = 0;   // and at the last
  double p = 1;
};

struct DriftOptions {
  double least = 0.05;        // |last - first| as a share of the smaller
  std::size_t shortest = 40;  // values
  double p = 1e-4;
};

// Positive values in time order, evenly spaced. Absent where there is none. O(n).
[[nodiscard]] std::optional<Drift> find_drift(std::span<const double> values,
                                              const DriftOptions& options = {});

}  // namespace stepscope

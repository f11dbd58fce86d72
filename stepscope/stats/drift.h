// SPDX-License-Identifier: Apache-2.0
// A slow rise or fall of a series that no single change of level explains. A parabola is fitted by
// least squares, with values beyond Hampel's limits around it moved onto them. Student's t compares
// its slope with a standard error that accounts for the residuals' autocorrelation (long_run.h). A
// rise that flattens counts too.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace stepscope {

struct Drift {
  double first = 0;  // the parabola at the first value
  double last = 0;   // the parabola at the last value
  double p = 1;
};

struct DriftOptions {
  double least = 0.05;        // |last - first| as a share of the smaller
  std::size_t shortest = 40;  // values
  double p = 1e-4;
};

// REQUIRES: positive values in time order, evenly spaced. Absent if there is no drift. O(n).
[[nodiscard]] std::optional<Drift> find_drift(std::span<const double> values,
                                              const DriftOptions& options = {});

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Where 100 % of the peak goes in a predicted step: its terms without their arithmetic at the peak,
// which stands apart as MFU and recomputation. The rows sum to the step.
#pragma once

#include <string>
#include <vector>

#include "stepscope/verbs/predict/predict.h"

namespace stepscope {

struct PeakRow {
  std::string name;   // "mfu", "recompute", "matmul_below_peak", …, or that of a step term
  std::string label;  // "matrix products below the peak"
  double seconds = 0;
};

// The model's arithmetic is that of the mean device, the terms are of the busiest: what the busiest
// computes beyond the mean counts as below the peak.
[[nodiscard]] std::vector<PeakRow> peak_budget(const PredictResult& r);

}  // namespace stepscope

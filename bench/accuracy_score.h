// SPDX-License-Identifier: Apache-2.0
// The quality of predictions of published runs: errors, ranking within groups of the same model and
// devices, and the cost of running the plan that is predicted fastest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training_rows.h"

namespace stepscope::bench {

struct Score {
  std::size_t count = 0;
  double mape = 0;  // all relative to the measured step
  double median = 0;
  double bias = 0;
  double worst = 0;
  std::optional<double> rank;    // Spearman's, mean over groups of three plans or more
  std::optional<double> regret;  // mean over groups of two or more
  std::optional<double> worst_regret;
};

// The score of the rows `which`. Rows without a prediction (0) do not count.
[[nodiscard]] Score score(const TrainingRows& data, const std::vector<std::size_t>& which,
                          const std::vector<double>& predicted);

// Rows that are reported together: those of a source. If a source has rows within a node and
// others, they are reported separately.
struct Part {
  std::string name;
  std::string source;
  std::vector<std::size_t> rows;
};
[[nodiscard]] std::vector<Part> parts_of(const TrainingRows& data);

// Step times from one share of the peak for a GPU model; recomputation counts as work. The share is
// the median that the other sources reach on that model, or on any model if no other source has it.
[[nodiscard]] std::vector<double> constant_hfu(const TrainingRows& data);

}  // namespace stepscope::bench

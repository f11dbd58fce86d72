// SPDX-License-Identifier: Apache-2.0
// How well predictions of published runs hold: errors, ranking within groups of the same model and
// devices, and what it costs to run the plan that is predicted fastest.
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

// Of the rows `which`; rows without a prediction (0) do not count.
[[nodiscard]] Score score(const TrainingRows& data, const std::vector<std::size_t>& which,
                          const std::vector<double>& predicted);

// Rows that are reported together: a source, its rows within a node apart from the others where it
// has both.
struct Part {
  std::string name;
  std::string source;
  std::vector<std::size_t> rows;
};
[[nodiscard]] std::vector<Part> parts_of(const TrainingRows& data);

// Step times by one share of the peak for a GPU model, recomputation counted as work: the median of
// what the other sources reach on that model, or on any where no other has it.
[[nodiscard]] std::vector<double> constant_hfu(const TrainingRows& data);

}  // namespace stepscope::bench

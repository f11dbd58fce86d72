// SPDX-License-Identifier: Apache-2.0
// Predicts published training runs with numbers for the machines' compute curves that are still
// being fitted, and fits them: one set for everything, a share of the peak for each chip and
// format and the time of its host, the rest shared by all machines.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/cost/machine/compute_parameters.h"
#include "stepscope/cost/model/dtype.h"
#include "training_rows.h"

namespace stepscope::bench {

// One number that is fitted. Its prior is what is known without any step time; `spread` says how
// well, as a standard deviation of its logarithm.
struct FitParameter {
  std::string name;
  std::optional<ComputeParameter> parameter{};  // absent: a share of the peak in `format`
  std::string curve{};  // machines whose chip is the same share a curve; empty: of all machines
  Dtype format = Dtype::bf16;
  bool attention = false;
  bool vendor = false;  // of attention: the vendor's kernel
  double prior = 1;
  double low = 0;
  double high = 1;
  double spread = 0.1;
};

// The chip whose curve a machine has: "A100-80GB SXM" for "A100-40GB SXM", ...
[[nodiscard]] std::string_view curve_of(std::string_view machine);

// Whether it is a number of this machine.
[[nodiscard]] bool concerns(const FitParameter& parameter, std::string_view machine);

// All that the rows can say something about.
[[nodiscard]] std::vector<FitParameter> fit_parameters(const TrainingRows& data);

// Puts the numbers that concern this machine into its curves.
void apply(std::span<const FitParameter> parameters, std::span<const double> values,
           Machine& machine);

struct Prediction {
  double step = 0;    // seconds
  double memory = 0;  // bytes of the fullest device, without what the runtime itself takes
};

// The rows' layers grouped by what they have in common, so that each kind is counted once.
class TrainingModel {
 public:
  explicit TrainingModel(const TrainingRows& data);

  // One prediction a row, with the machines of the catalogue as they are.
  [[nodiscard]] std::vector<Prediction> predict() const;
  // With these numbers; rows that `wanted` leaves out (false) are not computed.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const FitParameter> parameters,
                                                std::span<const double> values,
                                                const std::vector<bool>& wanted) const;

 private:
  struct Group {
    std::size_t first = 0;  // a row of it
    std::vector<std::size_t> rows;
  };
  [[nodiscard]] std::vector<Prediction> predict(const std::vector<Machine>& machines,
                                                const std::vector<bool>& wanted,
                                                const std::vector<bool>& stale,
                                                std::vector<Prediction> into) const;

  const TrainingRows& data_;
  std::vector<Group> groups_;
  friend std::vector<double> fit(const TrainingModel&, std::span<const FitParameter>,
                                 const std::vector<bool>&, std::span<const double>, int);
};

// The parameters that suit the rows where `used` is true, from `start`. Errors count by their
// logarithm, outliers linearly, a source's rows together by the root of their number.
[[nodiscard]] std::vector<double> fit(const TrainingModel& model,
                                      std::span<const FitParameter> parameters,
                                      const std::vector<bool>& used, std::span<const double> start,
                                      int iterations);

// Where recomputation is in doubt, runs of one model on as many devices recompute (as their rows
// say) if one of them would not fit into memory without; else none does.
void decide_recompute(TrainingRows& data);

// Rows whose micro-batch is not published get the fastest that fits by the catalogue's figures.
// A row that fits with none is moved to `left_out`.
void search_micro_batches(TrainingRows& data);

}  // namespace stepscope::bench

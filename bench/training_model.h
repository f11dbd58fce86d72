// SPDX-License-Identifier: Apache-2.0
// Predicts published training runs with parameters of the machines' compute curves, and fits these
// parameters. There is one set for all runs: a share of the peak for each chip and format, and the
// time of its host. All machines share the other parameters.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/cost/machine/compute_parameters.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/step/step_cost.h"
#include "training_rows.h"

namespace stepscope::bench {

// One fitted parameter. Its prior is known without any step time; `spread` is the prior's
// uncertainty, as a standard deviation of the logarithm.
struct FitParameter {
  std::string name;
  std::optional<ComputeParameter> parameter{};  // absent: a share of the peak in `format`
  std::string curve{};  // machines whose chip is the same share a curve; empty: of all machines
  Dtype format = Dtype::bf16;
  bool attention = false;
  bool vendor = false;  // for attention: the vendor's kernel
  double prior = 1;
  double low = 0;
  double high = 1;
  double spread = 0.1;
};

// The chip whose curve a machine uses: "A100-80GB SXM" for "A100-40GB SXM", ...
[[nodiscard]] std::string_view curve_of(std::string_view machine);

// Whether the parameter belongs to this machine.
[[nodiscard]] bool concerns(const FitParameter& parameter, std::string_view machine);

// All parameters that the rows contain information on.
[[nodiscard]] std::vector<FitParameter> fit_parameters(const TrainingRows& data);

// Puts this machine's parameters into its curves.
void apply(std::span<const FitParameter> parameters, std::span<const double> values,
           Machine& machine);

struct Prediction {
  double step = 0;    // seconds
  double memory = 0;  // bytes of the fullest device, without the runtime's own
  std::array<double, memory_term_count> memory_terms{};
  std::array<double, step_term_count> terms{};  // seconds
};

// The rows' layers grouped by their common properties, so that each kind is counted once.
class TrainingModel {
 public:
  explicit TrainingModel(const TrainingRows& data);

  // One prediction per row, with the catalogue's unchanged machines.
  [[nodiscard]] std::vector<Prediction> predict() const;
  // The same with these parameters. Rows with `wanted` false are not computed.
  [[nodiscard]] std::vector<Prediction> predict(std::span<const FitParameter> parameters,
                                                std::span<const double> values,
                                                const std::vector<bool>& wanted) const;

 private:
  struct Group {
    std::size_t first = 0;  // one of its rows
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

// Fits the parameters to the rows with `used` true, starting from `start`. Errors are logarithmic;
// outliers count linearly. The rows of a source together weigh the root of their number.
[[nodiscard]] std::vector<double> fit(const TrainingModel& model,
                                      std::span<const FitParameter> parameters,
                                      const std::vector<bool>& used, std::span<const double> start,
                                      int iterations);

// Decides rows whose recomputation is in doubt. Runs of one model on the same number of devices all
// recompute (as their rows say) if one of them would not fit into memory without it; otherwise no
// run recomputes.
void decide_recompute(TrainingRows& data);

// Rows without a published micro-batch get the fastest micro-batch that fits by the catalogue's
// figures. A row without such a micro-batch is moved to `left_out`.
void search_micro_batches(TrainingRows& data);

}  // namespace stepscope::bench

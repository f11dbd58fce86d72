// SPDX-License-Identifier: Apache-2.0
// A step as the model expects it beside the step as it was measured, class by class. Both columns
// sum to their step: the expected to evaluate()'s, the measured to the mean of the time budgets.
// Communication hidden by compute is nobody's loss and counts with that compute.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/parallelism.h"
#include "stepscope/fit/step_class.h"

namespace stepscope {

// Seconds of a step.
struct ClassComparison {
  StepClass kind = StepClass::matmul;
  double expected = 0;
  double recompute = 0;  // of expected
  double measured = 0;

  [[nodiscard]] double gap() const { return measured - expected; }
  // Absent where nothing is expected.
  [[nodiscard]] std::optional<double> ratio() const {
    return expected > 0 ? std::optional(measured / expected) : std::nullopt;
  }
};

struct RankSeconds {
  int rank = 0;
  StepSeconds measured{};  // a step's mean over the job's steps
};

struct StepComparison {
  std::string model;
  std::string machine;
  Plan plan;
  double expected = 0;  // seconds of the step
  double measured = 0;
  std::vector<ClassComparison> classes{};  // largest gap first; without those that are 0 twice
  std::vector<RankSeconds> ranks{};
  std::vector<std::string> assumptions;  // of the machine
};

struct StepQuestion {
  const Transformer& model;
  const Machine& machine;
  const Network& network;
  Plan plan;
  std::optional<int> recorded_world;  // of the traces themselves
};

// Why no plan could be held against these traces: no step, no device, no training. Absent
// where one can.
[[nodiscard]] std::optional<Error> cannot_compare(const JobResult& job);

// Over the steps that all ranks have. REQUIRES: !cannot_compare(job). Errors: a plan that
// check_plan refuses or the traces contradict, and what the machine lacks.
[[nodiscard]] Result<StepComparison> compare_step(const JobResult& job,
                                                  const StepQuestion& question);

}  // namespace stepscope

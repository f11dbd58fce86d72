// SPDX-License-Identifier: Apache-2.0
// The expected step compared with the measured step, class by class. Both columns sum to their
// step: the expected one to evaluate()'s, the measured one to the mean of the time budgets.
// Communication hidden by compute is not a loss and counts with that compute.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/fit/step_class.h"

namespace stepscope {

// Seconds per step.
struct ClassComparison {
  StepClass kind = StepClass::matmul;
  double expected = 0;
  double recompute = 0;  // part of expected
  double measured = 0;

  [[nodiscard]] double gap() const { return measured - expected; }
  // Absent if nothing is expected.
  [[nodiscard]] std::optional<double> ratio() const {
    return expected > 0 ? std::optional(measured / expected) : std::nullopt;
  }
};

struct RankSeconds {
  int rank = 0;
  StepSeconds measured{};  // mean over the job's steps
};

struct StepComparison {
  std::string model;
  std::string machine;
  Plan plan;
  double expected = 0;  // seconds of the step
  double measured = 0;
  std::vector<ClassComparison> classes{};  // largest gap first; without classes that are 0 in both
  std::vector<RankSeconds> ranks{};
  std::vector<std::string> assumptions;  // of the machine
};

struct StepQuestion {
  const Transformer& model;
  const Machine& machine;
  const Network& network;
  Plan plan;
  std::optional<int> recorded_world;  // from the traces, not from the user
};

// The reason why these traces cannot be compared with any plan: no step, no device, or no training.
// Absent if they can.
[[nodiscard]] std::optional<Error> cannot_compare(const JobResult& job);

// Covers the steps that every rank has. REQUIRES: !cannot_compare(job). Errors: a plan that
// check_plan refuses or the traces contradict, or values that the machine lacks.
[[nodiscard]] Result<StepComparison> compare_step(const JobResult& job,
                                                  const StepQuestion& question);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The step of a model on a machine under a plan: its time, the parts of the time, and its memory.
// The same function serves one prediction and a search over millions of plans.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/step_interval.h"
#include "stepscope/cost/step/step_tail.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope {

// The time of the busiest device in a step. The terms exclude each other and sum to the step.
enum class StepTerm : std::uint8_t {
  matmul,
  attention,
  pointwise,
  recompute,  // arithmetic that backward repeats; its communication counts below
  host,       // waiting for launches
  tensor,     // exposed communication, by its dimension
  context,
  expert,
  pipeline,
  data,
  bubble,
  optimizer,
  offload
};
inline constexpr std::size_t step_term_count = 13;
inline constexpr std::array<std::string_view, step_term_count> step_term_names = {
    "matmul",      "attention",    "pointwise",   "recompute",     "host",
    "tensor_comm", "context_comm", "expert_comm", "pipeline_comm", "data_comm",
    "bubble",      "optimizer",    "offload"};
static_assert(step_term_names[static_cast<std::size_t>(StepTerm::offload)] == "offload");

struct StepCost {
  std::array<double, step_term_count> seconds{};
  PipelineTime pipeline;
  StepTail tail;
  Memory memory;             // of the fullest device
  std::int64_t fullest = 0;  // index of that device in the pipeline
  double tokens_per_second = 0;
  double width = 0;  // of its interval, as a logarithm (step_interval.h)
  // Relative to the peak of the plan's format, by FlopsConvention; without recomputation.
  std::array<double, flops_convention_count> mfu{};

  [[nodiscard]] double operator[](StepTerm t) const { return seconds[static_cast<std::size_t>(t)]; }
  [[nodiscard]] Seconds step() const {
    double sum = 0;
    for (const double s : seconds) sum += s;
    return Seconds{sum};
  }
  // Holds the measured step in 80 % of cases.
  [[nodiscard]] StepInterval interval() const { return step_interval(step(), width); }
};

// REQUIRES: check_plan passed and same_shape(context.shape, plan). Caches data groups in the
// context, so each thread needs its own context. Errors name what the machine lacks.
[[nodiscard]] Result<StepCost> evaluate(CostContext& context, const Plan& plan);

// The formula of every term of the plan evaluated last in this context, by StepTerm.
[[nodiscard]] std::vector<Formula> step_formulas(const CostContext& context,
                                                 const OffloadRates& offload, const Plan& plan,
                                                 const StepCost& cost);

template <formula::Number N>
[[nodiscard]] N tokens_per_second(const Plan& plan, double step) {
  return formula::count<N>(plan.batch.global, "sequences") *
         formula::count<N>(plan.batch.sequence, "tokens of each") /
         formula::seconds<N>(step, "step");
}

// MFU if `flops` are the model's; HFU if they include recomputation.
template <formula::Number N>
[[nodiscard]] N utilization(const N& flops, const ComputeModel& compute, const Plan& plan,
                            double step) {
  return flops /
         (formula::seconds<N>(step, "step") * (formula::flop_rate<N>(compute.matmul.peak, "peak") *
                                               formula::count<N>(plan.devices, "devices")));
}

// Bytes held for or from pipeline neighbours: StageLoad::passed_bytes.
[[nodiscard]] Formula passed_bytes_formula(const Stages& stages, const Plan& plan,
                                           std::size_t device);

// The load of pipeline device `device` under a plan whose stages were made.
[[nodiscard]] StageLoad stage_load(const Stages& stages, const Plan& plan, std::size_t device);

}  // namespace stepscope

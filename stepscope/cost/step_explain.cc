// SPDX-License-Identifier: Apache-2.0
// The formulas behind a step's terms, with the values of one plan in them.
#include <array>
#include <cstdio>
#include <string>

#include "stepscope/cost/offload.h"
#include "stepscope/cost/step_cost.h"

namespace stepscope {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string number(std::int64_t value) { return std::to_string(value); }

std::string seconds(double value) {
  if (value != 0 && value < 1e-3) return number(value * 1e6) + " us";
  return value != 0 && value < 1 ? number(value * 1e3) + " ms" : number(value) + " s";
}

std::string gigabytes(double bytes) { return number(bytes * 1e-9) + " GB"; }

struct Explained {
  const CostContext& context;
  const Plan& plan;
  const StepCost& cost;

  [[nodiscard]] double m() const { return static_cast<double>(micro_batches(plan)); }
  [[nodiscard]] std::string where() const {
    std::int64_t layers = 0;
    for (auto s = static_cast<std::size_t>(cost.pipeline.busiest); s < context.stages.layers.size();
         s += static_cast<std::size_t>(plan.pp)) {
      layers += context.stages.layers[s];
    }
    return "; m = " + number(micro_batches(plan)) +
           " micro-batches, on the busiest pipeline device " + number(cost.pipeline.busiest) +
           " of " + number(plan.pp) + " with " + number(layers) + " layers";
  }
  template <class Value>
  [[nodiscard]] double over_stages(Value value) const {
    double sum = 0;
    for (auto s = static_cast<std::size_t>(cost.pipeline.busiest); s < context.stages.layers.size();
         s += static_cast<std::size_t>(plan.pp)) {
      sum += value(context.stages[s]);
    }
    return sum;
  }
};

std::string result(const Explained& e, StepTerm term) { return " = " + seconds(e.cost[term]); }

// m (forward + backward) of one class.
std::string of_passes(const Explained& e, StepTerm term, PassTerm pass) {
  const double forward = e.over_stages([pass](const StageCost& s) { return s.forward[pass]; });
  const double backward = e.over_stages([pass](const StageCost& s) { return s.backward[pass]; });
  const bool compute =
      pass == PassTerm::matmul || pass == PassTerm::attention || pass == PassTerm::pointwise;
  std::string text = std::string(step_term_names[static_cast<std::size_t>(term)]);
  text += compute ? " = m (forward + backward)" : " = m (forward + backward + recomputed)";
  text += " = " + number(e.m()) + " * (" + seconds(forward) + " + " + seconds(backward);
  if (!compute) {
    text += " + " + seconds(e.over_stages([pass](const StageCost& s) { return s.again[pass]; }));
  }
  return text + ")" + result(e, term) + e.where();
}

std::string of_recompute(const Explained& e) {
  const double again = e.over_stages([](const StageCost& s) { return s.again.compute(); });
  return "recompute = m (forward that backward runs again: " +
         std::string(recompute_names[static_cast<std::size_t>(e.plan.recompute)]) +
         ") = " + number(e.m()) + " * " + seconds(again) + result(e, StepTerm::recompute) +
         e.where();
}

std::string of_bubble(const Explained& e) {
  const PipelineTime& p = e.cost.pipeline;
  return "bubble = schedule " +
         std::string(schedule_names[static_cast<std::size_t>(e.plan.schedule)]) + " of " +
         number(e.plan.pp * e.plan.virtual_stages) + " stages with " +
         number(micro_batches(e.plan)) + " micro-batches, sends free, less the busiest device = " +
         seconds((p.busy + p.bubble).count()) + " - " + seconds(p.busy.count()) +
         result(e, StepTerm::bubble);
}

std::string of_pipeline(const Explained& e) {
  const PipelineTime& p = e.cost.pipeline;
  return "pipeline_comm = the same schedule with sends of " + gigabytes(e.context.input_bytes) +
         " less without = " + seconds(p.step.count()) + " - " +
         seconds((p.busy + p.bubble).count()) + result(e, StepTerm::pipeline);
}

std::string of_data(const Explained& e) {
  const StepTail& t = e.cost.tail;
  if (e.plan.zero == 3) {
    const double forward = e.over_stages([](const StageCost& s) { return s.data_forward; });
    const double backward = e.over_stages([](const StageCost& s) { return s.data_backward; });
    return "data_comm = m (what compute does not hide of gathers forward, of gathers and "
           "reductions "
           "backward) + first gather + last reduction + tied embeddings = " +
           number(e.m()) + " * (" + seconds(forward) + " + " + seconds(backward) + ") + " +
           seconds(t.first_gather) + " + " + seconds(t.last_reduce) + " + " + seconds(t.tie) +
           result(e, StepTerm::data) + e.where();
  }
  return "data_comm = exposed of the last reduction (all: " + seconds(t.reduce) +
         ") + of the earlier ones + of the parameter gather (all: " + seconds(t.gather) +
         ") + tied embeddings = " + seconds(t.reduce_exposed) + " + " + seconds(t.reduce_earlier) +
         " + " + seconds(t.gather_exposed) + " + " + seconds(t.tie) + result(e, StepTerm::data);
}

std::string of_optimizer(const Explained& e) {
  const double rate = e.plan.optimizer_at == Residence::device
                          ? e.context.compute.memory_rate *
                                of(e.context.compute, ComputeParameter::memory_efficiency)
                          : e.context.machine->host->memory_rate->value;
  const double fixed = of(e.context.compute, ComputeParameter::optimizer_us) * 1e-6;
  return "optimizer = owned parameters * (a + 2 (w + s) + p) bytes / memory rate + fixed = " +
         number(e.cost.tail.owned) + " * " + number(optimizer_bytes(e.plan.precision)) + " B / " +
         number(rate * 1e-9) + " GB/s + " + seconds(fixed) + result(e, StepTerm::optimizer);
}

std::string of_offload(const Explained& e) {
  const double fetched =
      e.over_stages([](const StageCost& s) { return s.fetch_forward + s.fetch_backward; });
  const StepTail& t = e.cost.tail;
  return "offload = m * parameters fetched late + gradients drained late + optimizer states moved "
         "= " +
         number(e.m()) + " * " + seconds(fetched) + " + " + seconds(t.drain_exposed) + " + " +
         seconds(t.moves) + result(e, StepTerm::offload);
}

std::string text_of(const Explained& e, StepTerm term) {
  switch (term) {
    case StepTerm::matmul:
      return of_passes(e, term, PassTerm::matmul);
    case StepTerm::attention:
      return of_passes(e, term, PassTerm::attention);
    case StepTerm::pointwise:
      return of_passes(e, term, PassTerm::pointwise);
    case StepTerm::recompute:
      return of_recompute(e);
    case StepTerm::host:
      return of_passes(e, term, PassTerm::host);
    case StepTerm::tensor:
      return of_passes(e, term, PassTerm::tensor);
    case StepTerm::context:
      return of_passes(e, term, PassTerm::context);
    case StepTerm::expert:
      return of_passes(e, term, PassTerm::expert);
    case StepTerm::pipeline:
      return of_pipeline(e);
    case StepTerm::data:
      return of_data(e);
    case StepTerm::bubble:
      return of_bubble(e);
    case StepTerm::optimizer:
      return of_optimizer(e);
    case StepTerm::offload:
      return of_offload(e);
  }
  return {};
}

// "parameters = 2 B * ... / 16 ranks".
std::string states(const Plan& plan, const StageLoad& load, double width, bool split) {
  const ShardCounts n = shard_counts(plan);
  std::string text = number(width) + " B * (" + number(load.parameters);
  if (split) text += " / " + number(n.dense) + " ranks";
  if (load.expert_parameters > 0) {
    text += " + experts " + number(load.expert_parameters);
    if (split) text += " / " + number(n.expert) + " ranks";
  }
  return text + ")";
}

std::string text_of(const Plan& plan, const StageLoad& load, MemoryTerm term) {
  const Precision& p = plan.precision;
  const double unit = load.unit_parameters + load.unit_expert_parameters;
  switch (term) {
    case MemoryTerm::parameters:
      return states(plan, load, p.parameter_bytes, plan.zero == 3);
    case MemoryTerm::gathered:
      return "(1 + prefetched " + number(plan.prefetch_units) + ") units * " + number(unit) +
             " parameters * " + number(std::int64_t{p.parameter_bytes}) +
             " B where ZeRO-3 or offload "
             "gathers them, at most all";
    case MemoryTerm::gradients:
      return states(plan, load, p.accumulated_gradient_bytes, plan.zero >= 2);
    case MemoryTerm::buckets:
      return "gradients on their way: 2 buckets of " +
             gigabytes(static_cast<double>(plan.bucket.value)) + " or of a unit of " +
             number(unit) + " * " + number(std::int64_t{p.gradient_bytes}) +
             " B with ZeRO-2, 3 or offload; else one unit where sums are wider than gradients";
    case MemoryTerm::master:
      return states(plan, load, p.master_bytes, plan.zero >= 1);
    case MemoryTerm::optimizer:
      return states(plan, load, p.optimizer_state_bytes, plan.zero >= 1);
    case MemoryTerm::activations:
      return "kept by the device's layers * micro-batches in flight = " +
             gigabytes(load.activation_bytes) + " * " + number(load.in_flight);
    case MemoryTerm::workspace:
      return "recomputed in one layer and passing between two operations";
    case MemoryTerm::logits:
      return "scores of the vocabulary, their exponentials and gradient";
  }
  return {};
}

}  // namespace

Result<std::string> explain(CostContext& context, const Plan& plan, StepTerm term) {
  const Result<StepCost> cost = evaluate(context, plan);
  if (!cost) return cost.error();
  return text_of(Explained{context, plan, *cost}, term);
}

Result<std::string> explain(CostContext& context, const Plan& plan, MemoryTerm term) {
  const Result<StepCost> cost = evaluate(context, plan);
  if (!cost) return cost.error();
  const auto device = static_cast<std::size_t>(cost->fullest);
  return std::string(memory_term_names[static_cast<std::size_t>(term)]) + " = " +
         text_of(plan, stage_load(context.stages, plan, device), term) + " = " +
         gigabytes(cost->memory[term]) + "; on pipeline device " + number(cost->fullest) + " of " +
         number(plan.pp);
}

}  // namespace stepscope

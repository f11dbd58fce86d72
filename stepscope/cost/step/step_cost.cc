// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/step_cost.h"

#include <algorithm>

#include "stepscope/cost/step/offload_time.h"
#include "stepscope/cost/step/stage_cost.h"

namespace stepscope {
namespace {

void add(StepCost& cost, StepTerm term, double seconds) {
  cost.seconds[static_cast<std::size_t>(term)] += seconds;
}

void add_communication(StepCost& cost, const PassTime& pass, double times) {
  add(cost, StepTerm::host, times * pass[PassTerm::host]);
  add(cost, StepTerm::tensor, times * pass[PassTerm::tensor]);
  add(cost, StepTerm::context, times * pass[PassTerm::context]);
  add(cost, StepTerm::expert, times * pass[PassTerm::expert]);
}

// All micro-batches of a stage on the busiest device.
void add_stage(StepCost& cost, const StageCost& stage, double times) {
  PassTime pass = stage.forward;
  pass.add(stage.backward, 1);
  add(cost, StepTerm::matmul, times * pass[PassTerm::matmul]);
  add(cost, StepTerm::attention, times * pass[PassTerm::attention]);
  add(cost, StepTerm::pointwise, times * pass[PassTerm::pointwise]);
  add(cost, StepTerm::recompute, times * stage.again.compute());
  add_communication(cost, pass, times);
  add_communication(cost, stage.again, times);
  add(cost, StepTerm::data, times * (stage.data_forward + stage.data_backward));
  add(cost, StepTerm::offload, times * (stage.fetch_forward + stage.fetch_backward));
  add(cost, StepTerm::pipeline, times * (stage.pass_forward + stage.pass_backward));
}

void add_tail(StepCost& cost) {
  const StepTail& t = cost.tail;
  add(cost, StepTerm::data,
      t.reduce_exposed + t.reduce_earlier + t.gather_exposed + t.first_gather + t.last_reduce +
          t.tie);
  add(cost, StepTerm::optimizer, t.update);
  add(cost, StepTerm::offload, t.moves + t.drain_exposed);
}

// Of neighbours that hold the same stages the first holds the most micro-batches.
void find_fullest(StepCost& cost, const Stages& stages, const Plan& plan) {
  const auto p = static_cast<std::size_t>(plan.pp);
  double most = -1;
  for (std::size_t device = 0; device < p; ++device) {
    if (stages.as_before[device] != 0) continue;
    const Memory memory = memory_of(plan, stage_load(stages, plan, device));
    const double total = memory.total();
    if (total <= most) continue;
    most = total;
    cost.memory = memory;
    cost.fullest = static_cast<std::int64_t>(device);
  }
}

void add_rates(StepCost& cost, const CostContext& context, const Plan& plan) {
  const double step = cost.step().count();
  const auto sequences = static_cast<double>(plan.global_batch);
  cost.tokens_per_second = sequences * static_cast<double>(plan.sequence) / step;
  const double peak = context.compute.matmul.peak * static_cast<double>(plan.devices);
  for (std::size_t c = 0; c < flops_convention_count; ++c) {
    cost.mfu[c] = sequences * context.sequence_flops[c] / (step * peak);
  }
}

}  // namespace

StageLoad stage_load(const Stages& stages, const Plan& plan, std::size_t device) {
  StageLoad load;
  for (std::size_t s = device; s < stages.cost_of.size(); s += static_cast<std::size_t>(plan.pp)) {
    const StageCost& stage = stages[s];
    load.parameters += stage.parameters;
    load.expert_parameters += stage.expert_parameters;
    if (stage.unit_parameters + stage.unit_expert_parameters >
        load.unit_parameters + load.unit_expert_parameters) {
      load.unit_parameters = stage.unit_parameters;
      load.unit_expert_parameters = stage.unit_expert_parameters;
    }
    load.layer_parameters = std::max(load.layer_parameters, stage.layer_parameters);
    load.end_parameters += stage.end_parameters;
    load.activation_bytes += stage.kept_bytes;
    load.workspace_bytes = std::max(load.workspace_bytes, stage.workspace_bytes);
    load.logits_bytes = std::max(load.logits_bytes, stage.logits_bytes);
  }
  load.in_flight =
      micro_batches_in_flight(plan.schedule, plan.pp, static_cast<std::int64_t>(device),
                              plan.virtual_stages, micro_batches(plan));
  if (stages.boundary_bytes > 0) {
    const auto m = static_cast<double>(micro_batches(plan));
    const auto chunks = static_cast<double>(plan.virtual_stages);
    const double receivers = chunks - (device == 0 ? 1 : 0);
    const double senders = chunks - (device + 1 == static_cast<std::size_t>(plan.pp) ? 1 : 0);
    load.passed_bytes =
        stages.boundary_bytes * (senders * (load.in_flight + m) + receivers * (m - load.in_flight));
  }
  return load;
}

Result<StepCost> evaluate(CostContext& context, const Plan& plan) {
  check(same_shape(context.shape, plan), "a plan is evaluated in a context of its shape");
  const Result<const DataEntry*> data = data_entry(context, plan);
  if (!data) return data.error();
  const Result<OffloadRates> offload = offload_rates(*context.machine, plan);
  if (!offload) return offload.error();
  const Stages& stages = context.stages;
  if (!has_stages(context, plan)) {
    make_stages(context, **data, *offload, plan);
    context.pipeline = pipeline_time({.schedule = plan.schedule,
                                      .virtual_stages = plan.virtual_stages,
                                      .micro_batches = micro_batches(plan),
                                      .send = Seconds{(*data)->send},
                                      .stages = stages.times});
  }
  StepCost cost;
  cost.pipeline = context.pipeline;
  const auto m = static_cast<double>(micro_batches(plan));
  for (auto s = static_cast<std::size_t>(cost.pipeline.busiest); s < stages.cost_of.size();
       s += static_cast<std::size_t>(plan.pp)) {
    add_stage(cost, stages[s], m);
  }
  add(cost, StepTerm::bubble, cost.pipeline.bubble.count());
  add(cost, StepTerm::pipeline, cost.pipeline.exposed_send.count());
  cost.tail = step_tail(context, **data, *offload, plan);
  add_tail(cost);
  find_fullest(cost, stages, plan);
  add_rates(cost, context, plan);
  return cost;
}

}  // namespace stepscope

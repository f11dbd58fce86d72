// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/step_cost.h"

#include <algorithm>

#include "stepscope/cost/step/offload_time.h"
#include "stepscope/cost/step/stage_cost.h"

namespace stepscope {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the numbers of a term
using namespace formula;

// The contribution of one stage of the busiest device to each term, over all its micro-batches.
// `alone`: its micro-batches whose passes run alone.
template <Number N, class Add>
void stage_terms(const StageCost& stage, double micro_batches, double alone, Add add) {
  const N m = count<N>(micro_batches, "m");
  const auto both = [&stage](PassTerm term) {
    return seconds<N>(stage.forward[term], "forward") +
           seconds<N>(stage.backward[term], "backward");
  };
  const auto again = [&stage](PassTerm term) {
    return seconds<N>(stage.again[term], "recomputed");
  };
  add(StepTerm::matmul, m * both(PassTerm::matmul));
  add(StepTerm::attention, m * both(PassTerm::attention));
  add(StepTerm::pointwise, m * both(PassTerm::pointwise));
  add(StepTerm::recompute,
      m * seconds<N>(stage.again.compute(), "forward that backward runs again"));
  add(StepTerm::host, m * both(PassTerm::host));
  add(StepTerm::tensor, m * both(PassTerm::tensor));
  add(StepTerm::context, m * both(PassTerm::context));
  add(StepTerm::expert, m * both(PassTerm::expert));
  add(StepTerm::host, m * again(PassTerm::host));
  add(StepTerm::tensor, m * again(PassTerm::tensor));
  add(StepTerm::context, m * again(PassTerm::context));
  add(StepTerm::expert, m * again(PassTerm::expert));
  if (stage.hidden_forward + stage.hidden_backward > 0) {
    add(StepTerm::expert,
        count<N>(alone, "passes alone") * (seconds<N>(stage.hidden_forward, "hidden forward") +
                                           seconds<N>(stage.hidden_backward, "backward")));
  }
  add(StepTerm::data, m * (seconds<N>(stage.data_forward, "units_forward") +
                           seconds<N>(stage.data_backward, "units_backward")));
  add(StepTerm::offload, m * (seconds<N>(stage.fetch_forward, "late parameters forward") +
                              seconds<N>(stage.fetch_backward, "backward")));
  add(StepTerm::pipeline, m * (seconds<N>(stage.pass_forward, "start of a pass forward") +
                               seconds<N>(stage.pass_backward, "backward")));
}

// With plan.overlap.experts a forward runs together with the backward of an earlier micro-batch.
// The forwards before a device's first backward and the backwards after its last forward run alone:
// those of the micro-batches that it holds at once.
double passes_alone(const Plan& plan, std::int64_t device) {
  return micro_batches_in_flight(plan.pipeline.schedule, plan.pp, device,
                                 plan.pipeline.virtual_stages, micro_batches(plan));
}

// The contributions of the pipeline and the end of the step.
template <Number N, class Add>
void step_terms(const PipelineTime& p, const StepTail& t, const OptimizerTime<N>& optimizer,
                Add add) {
  const N without = seconds<N>(p.without_sends.count(), "longest path without sends");
  add(StepTerm::bubble, without - seconds<N>(p.busy.count(), "busy"));
  add(StepTerm::pipeline, seconds<N>(p.step.count(), "longest path with sends") - without);
  add(StepTerm::data, seconds<N>(t.reduce_exposed, "reduce_exposed") +
                          seconds<N>(t.reduce_earlier, "reduce_earlier") +
                          seconds<N>(t.gather_exposed, "gather_exposed") +
                          seconds<N>(t.first_gather, "first gather") +
                          seconds<N>(t.last_reduce, "last reduction") +
                          seconds<N>(t.tie, "tied embeddings"));
  add(StepTerm::optimizer, optimizer.update);
  add(StepTerm::offload, optimizer.moves + seconds<N>(t.drain_exposed, "late gradients"));
}

// The first of adjacent devices with the same stages holds the most micro-batches.
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
  cost.tokens_per_second = tokens_per_second<double>(plan, step);
  cost.width = interval_widths[static_cast<std::size_t>(run_kind(*context.model, plan))];
  for (std::size_t c = 0; c < flops_convention_count; ++c) {
    const double flops = static_cast<double>(plan.batch.global) * context.sequence_flops[c];
    cost.mfu[c] = utilization<double>(flops, context.compute, plan, step);
  }
}

// Outputs until their gradients arrive, gradients, and inputs that wait for their turn.
template <Number N>
N passed_bytes(double boundary_bytes, const Plan& plan, std::size_t device, double in_flight) {
  if (boundary_bytes <= 0) return bytes<N>(0, "none: nothing is held for neighbours");
  const N m = count<N>(micro_batches(plan), "m");
  const N held = count<N>(in_flight, "in flight");
  const bool last = device + 1 == static_cast<std::size_t>(plan.pp);
  const N receivers =
      count<N>(plan.pipeline.virtual_stages - (device == 0 ? 1 : 0), "stages that receive");
  const N senders = count<N>(plan.pipeline.virtual_stages - (last ? 1 : 0), "stages that send");
  return bytes<N>(boundary_bytes, "bytes passed") * (senders * (held + m) + receivers * (m - held));
}

}  // namespace

StageLoad stage_load(const Stages& stages, const Plan& plan, std::size_t device) {
  StageLoad load;
  each_stage_of(plan, device, stages, [&](std::size_t s, double) {
    const StageCost& stage = stages[s];
    load.parameters += stage.parameters;
    load.expert_parameters += stage.expert_parameters;
    load.trained += stage.trained;
    load.trained_experts += stage.trained_experts;
    load.unit_trained = std::max(load.unit_trained, stage.unit_trained);
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
  });
  load.in_flight =
      micro_batches_in_flight(plan.pipeline.schedule, plan.pp, static_cast<std::int64_t>(device),
                              plan.pipeline.virtual_stages, micro_batches(plan));
  load.passed_bytes = passed_bytes<double>(stages.boundary_bytes, plan, device, load.in_flight);
  return load;
}

Formula passed_bytes_formula(const Stages& stages, const Plan& plan, std::size_t device) {
  return passed_bytes<Formula>(stages.boundary_bytes, plan, device,
                               stage_load(stages, plan, device).in_flight);
}

std::vector<Formula> step_formulas(const CostContext& context, const OffloadRates& offload,
                                   const Plan& plan, const StepCost& cost) {
  std::vector<Formula> sums(step_term_count, seconds<Formula>(0));
  const auto add = [&sums](StepTerm term, const Formula& more) {
    Formula& sum = sums[static_cast<std::size_t>(term)];
    sum = sum + more;
  };
  each_stage_of(plan, static_cast<std::size_t>(cost.pipeline.busiest), context.stages,
                [&](std::size_t s, double share) {
                  stage_terms<Formula>(context.stages[s],
                                       share * static_cast<double>(micro_batches(plan)),
                                       passes_alone(plan, cost.pipeline.busiest), add);
                });
  step_terms<Formula>(cost.pipeline, cost.tail,
                      optimizer_time<Formula>(context.compute, offload, plan, cost.tail.owned),
                      add);
  return sums;
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
    context.pipeline = pipeline_time({.schedule = plan.pipeline.schedule,
                                      .virtual_stages = plan.pipeline.virtual_stages,
                                      .micro_batches = micro_batches(plan),
                                      .send = Seconds{(*data)->send},
                                      .stages = stages.times});
  }
  StepCost cost;
  cost.pipeline = context.pipeline;
  cost.tail = step_tail(context, **data, *offload, plan);
  const auto add = [&cost](StepTerm term, double seconds) {
    cost.seconds[static_cast<std::size_t>(term)] += seconds;
  };
  each_stage_of(plan, static_cast<std::size_t>(cost.pipeline.busiest), stages,
                [&](std::size_t s, double share) {
                  stage_terms<double>(stages[s], share * static_cast<double>(micro_batches(plan)),
                                      passes_alone(plan, cost.pipeline.busiest), add);
                });
  step_terms<double>(cost.pipeline, cost.tail, {cost.tail.update, cost.tail.moves}, add);
  find_fullest(cost, stages, plan);
  add_rates(cost, context, plan);
  return cost;
}

}  // namespace stepscope

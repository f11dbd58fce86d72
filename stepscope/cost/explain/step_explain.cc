// SPDX-License-Identifier: Apache-2.0
// The formulas behind the terms of a step, with the values of one plan in them.
#include <string>

#include "stepscope/cost/explain/explain_parts.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/time/compute_time.h"

namespace stepscope::explain_parts {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the operators of an expression
using namespace formula;

std::string text(std::int64_t n) { return std::to_string(n); }

Formula passes(const Evaluated& e) { return count(micro_batches(e.plan)); }

std::string on_busiest_device(const Evaluated& e) {
  std::int64_t layers = 0;
  for (auto s = static_cast<std::size_t>(e.cost.pipeline.busiest);
       s < e.context.stages.layers.size(); s += static_cast<std::size_t>(e.plan.pp)) {
    layers += e.context.stages.layers[s];
  }
  return "m = " + text(micro_batches(e.plan)) + " micro-batches, on the busiest pipeline device " +
         text(e.cost.pipeline.busiest) + " of " + text(e.plan.pp) + " with " + text(layers) +
         " layers";
}

std::string line(const Evaluated& e, StepTerm term, std::string_view words,
                 const Formula& expression, const std::string& more = {}) {
  return explained(step_term_names[static_cast<std::size_t>(term)], words, expression,
                   seconds(e.cost[term]), more);
}

// m (forward + backward) of one class of arithmetic.
std::string of_arithmetic(const Evaluated& e, StepTerm term, PassTerm pass) {
  const Formula forward =
      seconds(e.over_stages([pass](const StageCost& s) { return s.forward[pass]; }));
  const Formula backward =
      seconds(e.over_stages([pass](const StageCost& s) { return s.backward[pass]; }));
  return line(e, term, "m (forward + backward)", passes(e) * (forward + backward),
              on_busiest_device(e));
}

// The same of what waits or communicates, which a pass that runs again does as well.
std::string of_waiting(const Evaluated& e, StepTerm term, PassTerm pass) {
  const Formula forward =
      seconds(e.over_stages([pass](const StageCost& s) { return s.forward[pass]; }));
  const Formula backward =
      seconds(e.over_stages([pass](const StageCost& s) { return s.backward[pass]; }));
  const Formula again =
      seconds(e.over_stages([pass](const StageCost& s) { return s.again[pass]; }));
  return line(e, term, "m (forward + backward + recomputed)",
              passes(e) * (forward + backward + again), on_busiest_device(e));
}

std::string of_recompute(const Evaluated& e) {
  const double again = e.over_stages([](const StageCost& s) { return s.again.compute(); });
  const auto how = recompute_names[static_cast<std::size_t>(e.plan.recompute)];
  return line(e, StepTerm::recompute,
              "m (forward that backward runs again: " + std::string(how) + ")",
              passes(e) * seconds(again), on_busiest_device(e));
}

std::string schedule(const Evaluated& e) {
  return std::string(schedule_names[static_cast<std::size_t>(e.plan.schedule)]) + " of " +
         text(e.plan.pp * e.plan.virtual_stages) + " stages and " + text(micro_batches(e.plan)) +
         " micro-batches";
}

std::string of_bubble(const Evaluated& e) {
  const PipelineTime& p = e.cost.pipeline;
  return line(e, StepTerm::bubble,
              "longest path through the schedule, sends free - the busiest device",
              seconds((p.busy + p.bubble).count()) - seconds(p.busy.count()), schedule(e));
}

std::string of_pipeline(const Evaluated& e) {
  const PipelineTime& p = e.cost.pipeline;
  const Formula forward = seconds(e.over_stages([](const StageCost& s) { return s.pass_forward; }));
  const Formula backward =
      seconds(e.over_stages([](const StageCost& s) { return s.pass_backward; }));
  return line(e, StepTerm::pipeline,
              "m (starts of passes and late sends, forward + backward) + longest path with sends - "
              "without",
              passes(e) * (forward + backward) + seconds(p.step.count()) -
                  seconds((p.busy + p.bubble).count()),
              schedule(e));
}

std::string of_data(const Evaluated& e) {
  const StepTail& t = e.cost.tail;
  if (e.plan.zero == 3) {
    const double forward = e.over_stages([](const StageCost& s) { return s.data_forward; });
    const double backward = e.over_stages([](const StageCost& s) { return s.data_backward; });
    return line(e, StepTerm::data,
                "m (unhidden gathers forward + unhidden gathers and reductions backward) + first "
                "gather + last reduction + tied embeddings",
                passes(e) * (seconds(forward) + seconds(backward)) + seconds(t.first_gather) +
                    seconds(t.last_reduce) + seconds(t.tie),
                on_busiest_device(e));
  }
  return line(e, StepTerm::data,
              "reduce_exposed + reduce_earlier + gather_exposed + tied embeddings",
              seconds(t.reduce_exposed) + seconds(t.reduce_earlier) + seconds(t.gather_exposed) +
                  seconds(t.tie));
}

Formula optimizer_rate(const Evaluated& e) {
  if (e.plan.optimizer_at != Residence::device) return byte_rate(e.offload.host_memory);
  return byte_rate(e.context.compute.memory_rate) *
         count(of(e.context.compute, ComputeParameter::memory_efficiency));
}

std::string of_optimizer(const Evaluated& e) {
  const double fixed = of(e.context.compute, ComputeParameter::optimizer_us) * 1e-6;
  return line(
      e, StepTerm::optimizer, "owned parameters * (A + 2 (M + O) + P) bytes / memory rate + fixed",
      count(e.cost.tail.owned) * bytes(optimizer_bytes(e.plan.precision)) / optimizer_rate(e) +
          seconds(fixed));
}

// What the optimizer step sends over links and drives (optimizer_time).
Formula moves(const Evaluated& e) {
  const Precision& p = e.plan.precision;
  const OffloadRates& r = e.offload;
  const Formula owned = count(e.cost.tail.owned);
  const Formula none = seconds(0);
  const auto over = [&owned, &none](double width, double rate, bool moved) {
    return moved && rate > 0 ? owned * bytes(width) / byte_rate(rate) : none;
  };
  const bool stays = e.plan.optimizer_at == Residence::device;
  const bool gradients_away = e.plan.gradients_at != Residence::device;
  const bool parameters_away = e.plan.parameters_at != Residence::device;
  const bool drives = e.plan.optimizer_at == Residence::nvme;
  const double states = p.master_bytes + p.optimizer_state_bytes;
  return sum({over(p.accumulated_gradient_bytes, r.link, gradients_away == stays),
              over(p.parameter_bytes, r.link, parameters_away == stays),
              over(states, r.nvme_read, drives), over(states, r.nvme_write, drives)},
             none);
}

std::string of_offload(const Evaluated& e) {
  const double fetched =
      e.over_stages([](const StageCost& s) { return s.fetch_forward + s.fetch_backward; });
  return line(e, StepTerm::offload,
              "m * parameters fetched late + gradients drained late + what the optimizer moves",
              passes(e) * seconds(fetched) + seconds(e.cost.tail.drain_exposed) + moves(e));
}

std::string of_whole_step(const Evaluated& e, std::string_view name) {
  Formula all = seconds(e.cost.seconds[0]);
  for (std::size_t i = 1; i < step_term_count; ++i) {
    if (e.cost.seconds[i] != 0) all = all + seconds(e.cost.seconds[i]);
  }
  return explained(name, "the terms", all, seconds(e.cost.step().count()));
}

std::string of_busy(const Evaluated& e, std::string_view name) {
  Formula all = seconds(0);
  for (auto s = static_cast<std::size_t>(e.cost.pipeline.busiest);
       s < e.context.stages.times.size(); s += static_cast<std::size_t>(e.plan.pp)) {
    const StageTime& t = e.context.stages.times[s];
    const Formula stage = seconds(t.forward.count()) + seconds(t.backward.count());
    all = all.value() == 0 ? stage : all + stage;
  }
  return explained(name, "m * sum over the busiest device's stages of (F + B)", passes(e) * all,
                   seconds(e.cost.pipeline.busy.count()), on_busiest_device(e));
}

// The host launches a layer of the first kind forward (host_excess).
std::string of_host_layer(const Evaluated& e, std::string_view name) {
  const ComputeModel& c = e.context.compute;
  const LayerCost& layer = e.context.kinds.front();
  const double device = layer.forward.total() - layer.forward[PassTerm::host];
  Formula host = seconds(of(c, ComputeParameter::host_layer_us) * 1e-6);
  if (e.plan.compiled) host = host * count(compiled_share);
  const double p =
      of(c, e.plan.tp > 1 ? ComputeParameter::host_power_tp : ComputeParameter::host_power);
  return explained(name, "norm_x(device, host) - device, of a layer forward",
                   host.value() > 0 ? norm(seconds(device), host, p) - seconds(device) : seconds(0),
                   seconds(layer.forward[PassTerm::host]));
}

}  // namespace

std::string of_step(const Evaluated& e, StepTerm term) {
  switch (term) {
    case StepTerm::matmul:
      return of_arithmetic(e, term, PassTerm::matmul);
    case StepTerm::attention:
      return of_arithmetic(e, term, PassTerm::attention);
    case StepTerm::pointwise:
      return of_arithmetic(e, term, PassTerm::pointwise);
    case StepTerm::recompute:
      return of_recompute(e);
    case StepTerm::host:
      return of_waiting(e, term, PassTerm::host);
    case StepTerm::tensor:
      return of_waiting(e, term, PassTerm::tensor);
    case StepTerm::context:
      return of_waiting(e, term, PassTerm::context);
    case StepTerm::expert:
      return of_waiting(e, term, PassTerm::expert);
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

std::vector<Part> step_parts() {
  return {{"step", of_whole_step}, {"busy", of_busy}, {"host_layer", of_host_layer}};
}

}  // namespace stepscope::explain_parts

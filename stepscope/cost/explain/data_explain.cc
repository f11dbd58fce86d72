// SPDX-License-Identifier: Apache-2.0
// The formulas of what data-parallel ranks and pipeline stages send each other.
#include <algorithm>
#include <string>

#include "stepscope/cost/explain/explain_parts.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/step/stage_cost.h"
#include "stepscope/cost/step/step_tail.h"

namespace stepscope::explain_parts {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the operators of an expression
using namespace formula;

std::string of_device(const Evaluated& e, std::int64_t device) {
  return "pipeline device " + std::to_string(device) + " of " + std::to_string(e.plan.pp);
}

// A collective in pieces (PieceTime::of).
Formula in_pieces(const PieceTime& t, double size) {
  if (size <= 0 || (t.start == 0 && t.per_byte == 0)) return seconds(0);
  const Formula whole = bytes(size);
  const Formula starts = ceiling(whole / bytes(t.piece)) * seconds(t.start);
  return t.per_byte > 0 ? starts + whole / byte_rate(1 / t.per_byte) : starts;
}

// The same as one call (PieceTime::once).
Formula at_once(const PieceTime& t, double size) {
  if (size <= 0 || (t.start == 0 && t.per_byte == 0)) return seconds(0);
  return t.per_byte > 0 ? seconds(t.start) + bytes(size) / byte_rate(1 / t.per_byte)
                        : seconds(t.start);
}

struct Gradients {
  std::int64_t device = 0;
  PipelineWork work;
  double all = 0;  // seconds
};

double all_of(const Evaluated& e, const PipelineWork& work) {
  const double width = e.plan.precision.gradient_bytes;
  const DataTimes& t = e.data.times;
  const double dense = work.parameters * width;
  const double expert = work.expert_parameters * width;
  return t.dense.reduce.of(dense) + t.dense.average.of(dense) + t.expert.reduce.of(expert) +
         t.expert.average.of(expert);
}

// The device for which `value` is largest, the first of several.
template <class Value>
Gradients largest(const Evaluated& e, Value value) {
  Gradients best;
  double most = -1;
  double drain = 0;
  for (std::int64_t device = 0; device < e.plan.pp; ++device) {
    const auto d = static_cast<std::size_t>(device);
    Gradients g{.device = device,
                .work = work_of(e.context.stages, d, static_cast<std::size_t>(e.plan.pp), drain)};
    drain += e.context.stages.times[d].backward.count();
    g.all = all_of(e, g.work);
    const double v = value(g);
    if (v <= most) continue;
    most = v;
    best = g;
  }
  return best;
}

std::string nothing(std::string_view name, std::string_view why) {
  return explained(name, why, seconds(0), seconds(0));
}

std::string of_reduce(const Evaluated& e, std::string_view name) {
  if (e.plan.zero == 3) return nothing(name, "none: ZeRO-3 reduces unit by unit");
  const Gradients g = largest(e, [](const Gradients& each) { return each.all; });
  const double width = e.plan.precision.gradient_bytes;
  const DataTimes& t = e.data.times;
  const double dense = g.work.parameters * width;
  const double expert = g.work.expert_parameters * width;
  return explained(name, "buckets * start + bytes / rate, of reductions and of averages",
                   sum({in_pieces(t.dense.reduce, dense), in_pieces(t.dense.average, dense),
                        in_pieces(t.expert.reduce, expert), in_pieces(t.expert.average, expert)},
                       seconds(0)),
                   seconds(e.cost.tail.reduce), of_device(e, g.device));
}

// contention C / R, of `all` seconds R of which `copying` C.
Formula slowdown(const Evaluated& e, double copying, double all) {
  const double contention = of(e.context.compute, ComputeParameter::contention);
  return all > 0 ? count(contention) * seconds(copying) / seconds(all) : count(0.0);
}

double reduce_copying(const Evaluated& e, const PipelineWork& work) {
  const double width = e.plan.precision.gradient_bytes;
  const DataTimes& t = e.data.times;
  const double dense = work.parameters * width;
  const double expert = work.expert_parameters * width;
  return t.dense.reduce.copying(dense) + t.dense.average.copying(dense) +
         t.expert.reduce.copying(expert) + t.expert.average.copying(expert);
}

double gather_copying(const Evaluated& e, const PipelineWork& work) {
  const double width = e.plan.precision.parameter_bytes;
  return e.data.times.dense.gather.copying(work.parameters * width) +
         e.data.times.expert.gather.copying(work.expert_parameters * width);
}

// left_over of step_tail.cc: `all` in `pieces` that become ready during `window`.
Formula left_over(const Evaluated& e, const Formula& all, double copying, double pieces,
                  const Formula& window) {
  const Formula k = count(pieces);
  const Formula open = window * (k - count(std::int64_t{1})) / k;
  return max(all - open, all / k) + slowdown(e, copying, all.value()) * min(all, open);
}

double bytes_of(const PipelineWork& work, double width) {
  return (work.parameters + work.expert_parameters) * width;
}

Formula last_reduction(const Evaluated& e, const Gradients& g) {
  const Formula all = seconds(g.all);
  const Formula left =
      e.plan.overlap_gradient_reduce
          ? left_over(e, all, reduce_copying(e, g.work),
                      bucket_count(e.plan, bytes_of(g.work, e.plan.precision.gradient_bytes)),
                      seconds(g.work.backward))
          : all;
  return g.work.drain > 0 ? max(seconds(0), left - seconds(g.work.drain)) : left;
}

std::string of_reduce_exposed(const Evaluated& e, std::string_view name) {
  if (e.plan.zero == 3) return nothing(name, "none: ZeRO-3 reduces unit by unit");
  const Gradients g =
      largest(e, [&e](const Gradients& each) { return last_reduction(e, each).value(); });
  return explained(name,
                   e.plan.overlap_gradient_reduce
                       ? "max(R - B (j - 1) / j, R / j) + slowdown min(R, B (j - 1) / j) - "
                         "drain"
                       : "R - drain",
                   last_reduction(e, g), seconds(e.cost.tail.reduce_exposed),
                   "R reduce, B the last backward, j buckets; " + of_device(e, g.device));
}

Formula earlier_reductions(const Evaluated& e, const Gradients& g) {
  const Formula others = count(micro_batches(e.plan) - 1);
  const Formula all = seconds(g.all);
  if (!e.plan.overlap_gradient_reduce) return others * all;
  const Formula window = seconds(g.work.backward + g.work.forward);
  return others * (max(seconds(0), all - window) +
                   slowdown(e, reduce_copying(e, g.work), g.all) * min(all, window));
}

std::string of_reduce_earlier(const Evaluated& e, std::string_view name) {
  if (e.plan.zero == 3) return nothing(name, "none: ZeRO-3 reduces unit by unit");
  if (!reduces_each_micro_batch(e.plan)) return nothing(name, "none: reduced once a step");
  const Gradients g =
      largest(e, [&e](const Gradients& each) { return earlier_reductions(e, each).value(); });
  return explained(name, "(m - 1) (max(0, R - (B + F)) + slowdown min(R, B + F))",
                   earlier_reductions(e, g), seconds(e.cost.tail.reduce_earlier),
                   of_device(e, g.device));
}

bool gathers_once(const Plan& plan) { return plan.zero == 1 || plan.zero == 2; }

Formula gathering(const Evaluated& e, const PipelineWork& work) {
  const double width = e.plan.precision.parameter_bytes;
  return sum({in_pieces(e.data.times.dense.gather, work.parameters * width),
              in_pieces(e.data.times.expert.gather, work.expert_parameters * width)},
             seconds(0));
}

std::string of_gather(const Evaluated& e, std::string_view name) {
  if (!gathers_once(e.plan)) return nothing(name, "none: of ZeRO-1 and 2 alone");
  const Gradients g =
      largest(e, [&e](const Gradients& each) { return gathering(e, each.work).value(); });
  return explained(name, "buckets * start + bytes / rate", gathering(e, g.work),
                   seconds(e.cost.tail.gather), of_device(e, g.device));
}

Formula gather_left(const Evaluated& e, const PipelineWork& work) {
  Formula all = seconds(gathering(e, work).value());
  if (!e.plan.overlap_parameter_gather) return all;
  return left_over(e, all, gather_copying(e, work),
                   bucket_count(e.plan, bytes_of(work, e.plan.precision.parameter_bytes)),
                   seconds(work.forward));
}

std::string of_gather_exposed(const Evaluated& e, std::string_view name) {
  if (!gathers_once(e.plan)) return nothing(name, "none: of ZeRO-1 and 2 alone");
  const Gradients g =
      largest(e, [&e](const Gradients& each) { return gather_left(e, each.work).value(); });
  return explained(name,
                   e.plan.overlap_parameter_gather
                       ? "max(C - F (j - 1) / j, C / j) + slowdown min(C, F (j - 1) / j)"
                       : "C",
                   gather_left(e, g.work), seconds(e.cost.tail.gather_exposed),
                   "C gather, F the first forward, j buckets; " + of_device(e, g.device));
}

// A unit that ZeRO-3 gathers (and backward reduces) beside `work` seconds of compute.
Formula unit_left(const Evaluated& e, const UnitTime& unit, bool backward, double work) {
  const Plan& p = e.plan;
  const bool ahead = p.overlap_parameter_gather && p.prefetch_units > 0;
  const double hidden =
      (ahead ? unit.gather : 0) + (backward && p.overlap_gradient_reduce ? unit.reduce : 0);
  const double all = unit.gather + (backward ? unit.reduce : 0);
  const Formula call = seconds(hidden);
  const Formula beside = seconds(work);
  const double copying = (ahead ? unit.gather_copying : 0) +
                         (backward && p.overlap_gradient_reduce ? unit.reduce_copying : 0);
  const Formula waits =
      count(latest_rank(e.context.compute, shard_counts(p).dense)) * seconds(work);
  Formula rest = hidden == all ? waits : seconds(all - hidden) + waits;
  if (hidden == 0) return rest;
  return max(seconds(0), call - beside) + slowdown(e, copying, hidden) * min(call, beside) + rest;
}

// The layers of one kind and one way of recomputation in a stage.
struct Alike {
  std::size_t kind = 0;
  std::size_t how = 0;
  std::int64_t layers = 0;
};

std::vector<Alike> layers_of(const Evaluated& e, std::size_t stage) {
  std::int64_t begin = 0;
  for (std::size_t s = 0; s < stage; ++s) begin += e.context.stages.layers[s];
  std::vector<Alike> all;
  for (std::int64_t i = 0; i < e.context.stages.layers[stage]; ++i) {
    const std::size_t kind = e.context.kind[static_cast<std::size_t>(begin + i)];
    const auto how = static_cast<std::size_t>(recompute_at(e.plan, i));
    auto at =
        std::ranges::find_if(all, [&](const Alike& a) { return a.kind == kind && a.how == how; });
    if (at == all.end()) at = all.insert(all.end(), {.kind = kind, .how = how});
    ++at->layers;
  }
  return all;
}

double work_beside(const LayerCost& layer, std::size_t how, bool backward) {
  return backward ? layer.backward[how].total() + layer.again[how].total() : layer.forward.total();
}

// All units of the busiest device; the embedding and the head may use what layers leave.
Formula units_left(const Evaluated& e, bool backward) {
  Formula all = seconds(0);
  const auto add = [&all](const Formula& more) { all = all.value() == 0 ? more : all + more; };
  const auto& stages = e.context.stages;
  for (auto s = static_cast<std::size_t>(e.cost.pipeline.busiest); s < stages.layers.size();
       s += static_cast<std::size_t>(e.plan.pp)) {
    double slack = 0;
    for (const Alike& a : layers_of(e, s)) {
      const LayerCost& layer = e.context.kinds[a.kind];
      const UnitTime& unit = e.data.kinds[a.kind];
      add(count(a.layers) * unit_left(e, unit, backward, work_beside(layer, a.how, backward)));
      slack = std::max(slack, layer.forward.total() - unit.gather);
    }
    slack *= static_cast<double>(e.plan.prefetch_units);
    const LayerCost& head = e.context.head[e.plan.pp > 1 ? 1 : 0];
    if (s == 0) {
      add(unit_left(e, e.data.embedding, backward,
                    work_beside(e.context.embedding, 0, backward) + slack));
    }
    if (s + 1 == stages.layers.size()) {
      add(unit_left(e, e.data.head, backward, work_beside(head, 0, backward) + slack));
    }
  }
  return all;
}

std::string of_units_forward(const Evaluated& e, std::string_view name) {
  if (e.plan.zero != 3) return nothing(name, "none: of ZeRO-3 alone");
  return explained(name, "sum over units of max(0, C - F) + slowdown min(C, F) + jitter_n F",
                   units_left(e, false),
                   seconds(e.over_stages([](const StageCost& s) { return s.data_forward; })),
                   "C gathers a layer, embedding or head beside F, its forward");
}

std::string of_units_backward(const Evaluated& e, std::string_view name) {
  if (e.plan.zero != 3) return nothing(name, "none: of ZeRO-3 alone");
  return explained(name,
                   "sum over units of max(0, C + R - B) + slowdown min(C + R, B) + jitter_n B",
                   units_left(e, true),
                   seconds(e.over_stages([](const StageCost& s) { return s.data_backward; })),
                   "C gathers and R reduces a layer, embedding or head beside B, its backward");
}

std::string of_send(const Evaluated& e, std::string_view name) {
  if (e.plan.pp == 1) return nothing(name, "none: one stage");
  const PieceTime& t = e.data.times.send;
  const Formula whole = at_once(t, e.context.input_bytes);
  const bool replicated =
      e.plan.tp > 1 && e.plan.tensor_layout == TensorLayout::one_d && !e.plan.sequence_parallel;
  const Formula parts = at_once(t, e.context.input_bytes / static_cast<double>(e.plan.tp)) +
                        seconds(e.context.gather_input);
  return explained(name,
                   replicated ? "min(start + bytes / rate, start + bytes / tp / rate + gather)"
                              : "start + bytes / rate",
                   replicated ? min(whole, parts) : whole, seconds(e.data.send),
                   "of a micro-batch to the next stage");
}

double share(std::int64_t ranks) {
  return (static_cast<double>(ranks) - 1) / static_cast<double>(ranks);
}

// data_parallel.h has the volumes.
std::string of_data_sent(const Evaluated& e, std::string_view name) {
  const Plan& p = e.plan;
  const ShardCounts n = shard_counts(p);
  const Gradients g = largest(e, [&p](const Gradients& each) {
    const DataVolume v = data_volume(p, each.work.parameters, each.work.expert_parameters);
    return v.reduced + v.averaged + v.gathered;
  });
  const DataVolume v = data_volume(p, g.work.parameters, g.work.expert_parameters);
  const Formula none = bytes(0);
  const auto of_weights = [&](double parameters, std::int64_t replicas, std::int64_t shards) {
    if (parameters <= 0) return bytes(0);
    const double times = reduces_each_micro_batch(p) ? e.m() : 1;
    const Formula gradients = count(times) * bytes(p.precision.gradient_bytes) * count(parameters);
    if (p.zero == 0) return count(2 * share(replicas)) * gradients;
    const double gathers = p.zero == 3 ? 2 * e.m() : 1;
    return sum(
        {count(share(shards)) * gradients,
         count(2 * share(replicas / shards) / static_cast<double>(shards)) * gradients,
         count(share(shards) * gathers) * bytes(p.precision.parameter_bytes) * count(parameters)},
        none);
  };
  const std::int64_t replicas = p.dp * p.cp;
  return explained(name, "reduced + averaged + gathered",
                   sum({of_weights(g.work.parameters, replicas, n.dense),
                        of_weights(g.work.expert_parameters, replicas / p.ep, n.expert)},
                       none),
                   bytes(v.reduced + v.averaged + v.gathered), of_device(e, g.device));
}

}  // namespace

std::vector<Part> data_parts() {
  return {{"send", of_send},
          {"reduce", of_reduce},
          {"reduce_exposed", of_reduce_exposed},
          {"reduce_earlier", of_reduce_earlier},
          {"gather", of_gather},
          {"gather_exposed", of_gather_exposed},
          {"units_forward", of_units_forward},
          {"units_backward", of_units_backward},
          {"data_sent", of_data_sent}};
}

}  // namespace stepscope::explain_parts

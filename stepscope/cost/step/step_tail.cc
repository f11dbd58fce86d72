// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/step_tail.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

struct Hidden {
  double all = 0;
  double exposed = 0;
  double slowdown = 0;  // of arithmetic, a second beside it
};

// `all` seconds in `pieces` that become ready one after the other during `window`; each second
// beside arithmetic costs it `slowdown` seconds.
double left_over(double all, double pieces, double window, double slowdown) {
  const double open = window * (pieces - 1) / pieces;
  return std::max(all - open, all / pieces) + slowdown * std::min(all, open);
}

double slowdown_of(double contention, double copying, double all) {
  return all > 0 ? contention * copying / all : 0;
}

Hidden reduction(const DataEntry& data, const Plan& plan, const PipelineWork& work,
                 double contention, double window) {
  const double width = plan.precision.gradient_bytes;
  const double dense = work.parameters * width;
  const double expert = work.expert_parameters * width;
  Hidden h;
  h.all = data.times.dense.reduce.of(dense) + data.times.dense.average.of(dense) +
          data.times.expert.reduce.of(expert) + data.times.expert.average.of(expert);
  const double copying =
      data.times.dense.reduce.copying(dense) + data.times.dense.average.copying(dense) +
      data.times.expert.reduce.copying(expert) + data.times.expert.average.copying(expert);
  h.slowdown = slowdown_of(contention, copying, h.all);
  h.exposed = plan.overlap_gradient_reduce
                  ? left_over(h.all, bucket_count(plan, dense + expert), window, h.slowdown)
                  : h.all;
  return h;
}

// ZeRO-1 and 2: the updated shards to all, hidden by the next forward where the plan says so.
Hidden gathering(const DataEntry& data, const Plan& plan, const PipelineWork& work,
                 double contention) {
  const double width = plan.precision.parameter_bytes;
  const double dense = work.parameters * width;
  const double expert = work.expert_parameters * width;
  Hidden h;
  h.all = data.times.dense.gather.of(dense) + data.times.expert.gather.of(expert);
  h.slowdown = slowdown_of(
      contention, data.times.dense.gather.copying(dense) + data.times.expert.gather.copying(expert),
      h.all);
  h.exposed = plan.overlap_parameter_gather
                  ? left_over(h.all, bucket_count(plan, dense + expert), work.forward, h.slowdown)
                  : h.all;
  return h;
}

double owned(const Plan& plan, const PipelineWork& work) {
  if (plan.zero == 0) return work.parameters + work.expert_parameters;
  const ShardCounts n = shard_counts(plan);
  return work.parameters / static_cast<double>(n.dense) +
         work.expert_parameters / static_cast<double>(n.expert);
}

void add_reduction(StepTail& tail, const DataEntry& data, const Plan& plan,
                   const PipelineWork& work, double contention) {
  const Hidden last = reduction(data, plan, work, contention, work.backward);
  const double exposed = std::max(0.0, last.exposed - work.drain);
  if (last.all > tail.reduce) tail.reduce = last.all;
  tail.reduce_exposed = std::max(tail.reduce_exposed, exposed);
  if (!reduces_each_micro_batch(plan)) return;
  // The others have the next forward to hide in as well.
  const double window = work.backward + work.forward;
  const Hidden each = reduction(data, plan, work, contention, window);
  const double earlier =
      plan.overlap_gradient_reduce
          ? std::max(0.0, each.all - window) + each.slowdown * std::min(each.all, window)
          : each.all;
  const auto others = static_cast<double>(micro_batches(plan) - 1);
  tail.reduce_earlier = std::max(tail.reduce_earlier, others * earlier);
}

// Gradients that leave the device, by the time that the last backward has for them.
double draining(const OffloadRates& offload, const Plan& plan, const PipelineWork& work) {
  if (offload.drain <= 0) return 0;
  const double held = plan.zero >= 2 ? owned(plan, work) : work.parameters + work.expert_parameters;
  const double bytes = held * plan.precision.gradient_bytes;
  const double all = bytes / offload.drain;
  const double last = left_over(all, bucket_count(plan, bytes), work.backward, 0);
  if (!reduces_each_micro_batch(plan)) return last;
  const auto others = static_cast<double>(micro_batches(plan) - 1);
  return last + others * std::max(0.0, all - work.backward - work.forward);
}

}  // namespace

PipelineWork work_of(const Stages& stages, std::size_t device, std::size_t devices, double drain) {
  PipelineWork work;
  work.drain = drain;
  for (std::size_t s = device; s < stages.cost_of.size(); s += devices) {
    work.forward += stages.times[s].forward.count();
    work.backward += stages.times[s].backward.count();
    work.parameters += stages[s].parameters;
    work.expert_parameters += stages[s].expert_parameters;
  }
  work.first = stages[device].first;
  work.last = stages[device].last;
  return work;
}

double bucket_count(const Plan& plan, double bytes) {
  return std::max(1.0, std::ceil(bytes / static_cast<double>(plan.bucket.value)));
}

StepTail step_tail(const CostContext& context, const DataEntry& data, const OffloadRates& offload,
                   const Plan& plan) {
  const Stages& stages = context.stages;
  const auto p = static_cast<std::size_t>(plan.pp);
  const double contention = of(context.compute, ComputeParameter::contention);
  StepTail tail;
  double drain = 0;
  for (std::size_t device = 0; device < p; ++device) {
    const double drained = drain;
    drain += stages.times[device].backward.count();
    // One that holds what its neighbour does has more of the drain to hide in.
    if (stages.as_before[device] != 0) continue;
    const PipelineWork work = work_of(stages, device, p, drained);
    if (plan.zero < 3) add_reduction(tail, data, plan, work, contention);
    if (plan.zero == 1 || plan.zero == 2) {
      const Hidden gather = gathering(data, plan, work, contention);
      tail.gather = std::max(tail.gather, gather.all);
      tail.gather_exposed = std::max(tail.gather_exposed, gather.exposed);
    }
    tail.drain_exposed = std::max(tail.drain_exposed, draining(offload, plan, work));
    tail.owned = std::max(tail.owned, owned(plan, work));
    if (plan.zero == 3 && device == 0) {
      tail.first_gather = work.first.gather;
      tail.last_reduce = work.last.reduce;
    }
  }
  tail.tie = data.tie;
  const OptimizerTime optimizer = optimizer_time(context.compute, offload, plan, tail.owned);
  tail.update = optimizer.update;
  tail.moves = optimizer.moves;
  return tail;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/step_tail.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stepscope {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the numbers of a term
using namespace formula;

// Number of pieces in which `bytes` are sent.
double bucket_count(const Plan& plan, double bytes) {
  return std::max(1.0, std::ceil(bytes / static_cast<double>(plan.overlap.bucket.value)));
}

// A call in `pieces` that become ready one after the other during `window`. Each second during
// arithmetic costs `slowdown` seconds.
template <Number N>
N left_over(const N& all, double pieces, const N& window, const N& slowdown) {
  const N j = count<N>(pieces, "j");
  const N open = window * (j - 1.0) / j;
  return max(all - open, all / j) + slowdown * min(all, open);
}

// The calls of a device: their total if run one after the other, and the seconds in which its units
// copy.
template <Number N>
struct Calls {
  N all;
  double copying = 0;
  double bytes = 0;

  // As a single number.
  [[nodiscard]] N told(std::string_view name) const { return seconds<N>(value(all), name); }
  [[nodiscard]] N slowdown(double contention, std::string_view name) const {
    if (value(all) <= 0) return count<N>(0.0);
    return count<N>(contention, "contention") * seconds<N>(copying, "copying") / told(name);
  }
};

template <Number N>
Calls<N> reductions(const DataEntry& data, const Plan& plan, const PipelineWork& work,
                    bool averages = true) {
  const double width = plan.precision.gradient_bytes;
  const N dense = bytes<N>(work.trained * width, "gradients");
  const N expert = bytes<N>(work.trained_experts * width, "expert gradients");
  const StateTimes& d = data.times.dense;
  const StateTimes& e = data.times.expert;
  Calls<N> calls{d.reduce.of(dense) + e.reduce.of(expert),
                 d.reduce.copying(value(dense)) + e.reduce.copying(value(expert)),
                 value(dense) + value(expert)};
  if (!averages) return calls;
  calls.all = calls.all + d.average.of(dense) + e.average.of(expert);
  calls.copying += d.average.copying(value(dense)) + e.average.copying(value(expert));
  return calls;
}

template <Number N>
Calls<N> gathers(const DataEntry& data, const Plan& plan, const PipelineWork& work) {
  const double width = plan.precision.parameter_bytes;
  const N dense = bytes<N>(work.trained * width, "parameters");
  const N expert = bytes<N>(work.trained_experts * width, "expert parameters");
  const PieceTime& d = data.times.dense.gather;
  const PieceTime& e = data.times.expert.gather;
  return {d.of(dense) + e.of(expert), d.copying(value(dense)) + e.copying(value(expert)),
          value(dense) + value(expert)};
}

double owned(const Plan& plan, const PipelineWork& work) {
  if (plan.zero == 0) return work.trained + work.trained_experts;
  const ShardCounts n = shard_counts(plan);
  return work.trained / static_cast<double>(n.dense) +
         work.trained_experts / static_cast<double>(n.expert);
}

// The exposed time of gradients that leave the device, given the time of the last backward.
double draining(const OffloadRates& offload, const Plan& plan, const PipelineWork& work) {
  if (offload.drain <= 0) return 0;
  const double held = plan.zero >= 2 ? owned(plan, work) : work.trained + work.trained_experts;
  const double bytes = held * plan.precision.gradient_bytes;
  const double all = bytes / offload.drain;
  const double last = left_over<double>(all, bucket_count(plan, bytes), work.backward, 0);
  if (!reduces_each_micro_batch(plan)) return last;
  const auto others = static_cast<double>(micro_batches(plan) - 1);
  return last + others * std::max(0.0, all - work.backward - work.forward);
}

}  // namespace

template <Number N>
DeviceTail<N> device_tail(const CostContext& context, const DataEntry& data, const Plan& plan,
                          const PipelineWork& work) {
  const double contention = of(context.compute, ComputeParameter::contention);
  const bool gathers_once = plan.zero == 1 || plan.zero == 2;
  DeviceTail<N> tail;
  if (plan.zero == 3) {
    const N none = seconds<N>(0, "none: ZeRO-3 reduces unit by unit");
    tail.reduce = tail.reduce_exposed = tail.reduce_earlier = none;
  } else {
    const Calls<N> calls = reductions<N>(data, plan, work);
    const N all = calls.told("R");
    const N slowdown = calls.slowdown(contention, "R");
    tail.reduce = calls.all;
    tail.reduce_exposed = plan.overlap.gradient_reduce
                              ? left_over(all, bucket_count(plan, calls.bytes),
                                          seconds<N>(work.backward, "B"), slowdown)
                              : all;
    if (work.drain > 0) {
      tail.reduce_exposed =
          max(seconds<N>(0), tail.reduce_exposed - seconds<N>(work.drain, "drain"));
    }
    tail.reduce_earlier = seconds<N>(0, "none: reduced once a step");
    if (reduces_each_micro_batch(plan)) {
      // The others can also hide in the next forward.
      const N window = seconds<N>(work.backward + work.forward, "(B + F)");
      const Calls<N> earlier = reductions<N>(data, plan, work, averages_each_micro_batch(plan));
      const N sent = earlier.told("R");
      const N each = plan.overlap.gradient_reduce
                         ? max(seconds<N>(0), sent - window) +
                               earlier.slowdown(contention, "R") * min(sent, window)
                         : sent;
      tail.reduce_earlier = count<N>(micro_batches(plan) - 1, "(m - 1)") * each;
    }
  }
  tail.gather = tail.gather_exposed = seconds<N>(0, "none: of ZeRO-1 and 2 alone");
  if (gathers_once) {
    const Calls<N> calls = gathers<N>(data, plan, work);
    const N all = calls.told("C");
    tail.gather = calls.all;
    tail.gather_exposed =
        plan.overlap.parameter_gather
            ? left_over(all, bucket_count(plan, calls.bytes), seconds<N>(work.forward, "F"),
                        calls.slowdown(contention, "C"))
            : all;
  }
  return tail;
}

template DeviceTail<double> device_tail<double>(const CostContext&, const DataEntry&, const Plan&,
                                                const PipelineWork&);
template DeviceTail<Formula> device_tail<Formula>(const CostContext&, const DataEntry&, const Plan&,
                                                  const PipelineWork&);

PipelineWork work_of(const Stages& stages, const Plan& plan, std::size_t device, double drain) {
  PipelineWork work;
  // From both ends, no device has drained before another.
  work.drain = plan.pipeline.schedule == Schedule::dualpipe ? 0 : drain;
  each_stage_of(plan, device, stages, [&](std::size_t s, double share) {
    work.forward += share * stages.times[s].forward.count();
    work.backward += share * stages.times[s].backward.count();
    work.parameters += stages[s].parameters;
    work.expert_parameters += stages[s].expert_parameters;
    work.trained += stages[s].trained;
    work.trained_experts += stages[s].trained_experts;
  });
  work.first = stages[device].first;
  work.last = stages[device].last;
  return work;
}

StepTail step_tail(const CostContext& context, const DataEntry& data, const OffloadRates& offload,
                   const Plan& plan) {
  const Stages& stages = context.stages;
  const auto p = static_cast<std::size_t>(plan.pp);
  StepTail tail;
  double drain = 0;
  for (std::size_t device = 0; device < p; ++device) {
    const double drained = drain;
    drain += stages.times[device].backward.count();
    // A device with the same stages as its neighbour has more of the drain to hide in.
    if (stages.as_before[device] != 0) continue;
    const PipelineWork work = work_of(stages, plan, device, drained);
    const auto own = device_tail<double>(context, data, plan, work);
    tail.reduce = std::max(tail.reduce, own.reduce);
    tail.reduce_exposed = std::max(tail.reduce_exposed, own.reduce_exposed);
    tail.reduce_earlier = std::max(tail.reduce_earlier, own.reduce_earlier);
    tail.gather = std::max(tail.gather, own.gather);
    tail.gather_exposed = std::max(tail.gather_exposed, own.gather_exposed);
    tail.drain_exposed = std::max(tail.drain_exposed, draining(offload, plan, work));
    tail.owned = std::max(tail.owned, owned(plan, work));
    if (plan.zero == 3 && device == 0) {
      tail.first_gather = work.first.gather;
      tail.last_reduce = work.last.reduce;
    }
  }
  tail.tie = data.tie;
  const auto optimizer = optimizer_time<double>(context.compute, offload, plan, tail.owned);
  tail.update = optimizer.update;
  tail.moves = optimizer.moves;
  return tail;
}

}  // namespace stepscope

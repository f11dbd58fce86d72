// SPDX-License-Identifier: Apache-2.0
// One sweep per device. The kinds of open work decide the category. If no work is open, the gap is
// explained by its cause.
#include "stepscope/analysis/budget/time_budget.h"

#include <algorithm>
#include <numeric>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/budget/idle_cause.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

enum DeviceLayer : std::size_t {
  kernel_layer,
  waiting_layer,
  transferring_layer,
  unsplit_layer,
  copy_layer,
  idling_layer,  // kernels that wait; the device does no work
  device_layers
};
using DeviceSweep = IntervalSweep<device_layers>;

void add_communication(const Trace& trace, const CommSplit& split, SliceId op, DeviceSweep& sweep) {
  for_each_comm_state(trace, split, op, [&](CommState state, Ns start, Ns end) {
    const DeviceLayer layer = state == CommState::waiting        ? waiting_layer
                              : state == CommState::transferring ? transferring_layer
                                                                 : unsplit_layer;
    sweep.add(layer, start, end);
  });
}

DeviceSweep sweep_of(const Trace& trace, const DeviceLane& lane, const CommSplit& split) {
  DeviceSweep sweep;
  sweep.reserve(lane.ops.size());
  for (const SliceId op : lane.ops) {
    const DeviceLayer layer = trace.is_wait(op)      ? idling_layer
                              : trace.is_compute(op) ? kernel_layer
                                                     : copy_layer;
    if (trace.is_communication(op))
      add_communication(trace, split, op, sweep);
    else
      sweep.add(layer, trace.slices.start[index(op)], trace.slices.end(op));
  }
  return sweep;
}

// The category of a stretch in which at least one kind of work is open.
BudgetCategory device_category_of(const DeviceSweep::Open& open) {
  const bool comm =
      open[waiting_layer] > 0 || open[transferring_layer] > 0 || open[unsplit_layer] > 0;
  if (open[kernel_layer] > 0) return comm ? comm_overlapped : compute;
  if (open[transferring_layer] > 0) return comm_exposed_transfer;
  if (open[unsplit_layer] > 0) return comm_exposed_unsplit;
  return comm ? comm_exposed_wait : copy_exposed;
}

bool is_free(const DeviceSweep::Open& open) {
  return std::ranges::all_of(std::span(open).first<idling_layer>(),
                             [](auto count) { return count == 0; });
}

// The first operation that starts at or after `from`, and the one before it. Operations without
// length do not end a gap.
class NextOperation {
 public:
  NextOperation(const Trace& trace, const DeviceLane& lane) : trace_(trace), lane_(lane) {}

  SliceId at(Ns from) {
    const Slices& s = trace_.slices;
    while (at_ < lane_.ops.size()) {
      const std::uint32_t op = index(lane_.ops[at_]);
      if (s.start[op] >= from && s.dur[op] > Ns{0}) return SliceId{op};
      ++at_;
    }
    return no_slice;
  }
  [[nodiscard]] SliceId before() const { return at_ == 0 ? no_slice : lane_.ops[at_ - 1]; }

 private:
  const Trace& trace_;
  const DeviceLane& lane_;
  std::size_t at_ = 0;
};

DeviceBudget device_budget(const IdleContext& context, const DeviceLane& lane,
                           std::span<const Step> steps, const CommSplit& split) {
  DeviceBudget result{.device = lane.device, .steps = std::vector<Budget>(steps.size())};
  DeviceSweep sweep = sweep_of(context.trace, lane, split);
  NextOperation next(context.trace, lane);
  StepCursor cursor(steps);
  std::vector<IdlePiece> gap;
  const auto visit = [&](Ns start, Ns end, const DeviceSweep::Open& open) {
    if (!is_free(open)) {
      const BudgetCategory category = device_category_of(open);
      cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
        result.steps[step][category] += to - from;
      });
      return;
    }
    gap.clear();
    const SliceId op = next.at(end);
    explain_gap(context, start, end, next.before(), op, gap);
    if (open[idling_layer] > 0)
      for (IdlePiece& piece : gap)
        if (piece.cause == idle_launch || piece.cause == idle_unexplained)
          piece.cause = idle_dependency;
    for (const IdlePiece& piece : gap)
      cursor.place(piece.start, piece.end, [&](std::size_t step, Ns from, Ns to) {
        result.steps[step][piece.cause] += to - from;
        IdlePiece& part = result.idle.emplace_back(piece);
        part.start = from;
        part.end = to;
        part.step = static_cast<std::uint32_t>(step);
      });
  };
  sweep.run(steps.front().start, steps.back().end, visit);
  result.idle.shrink_to_fit();
  return result;
}

Ns work(const DeviceBudget& device) {
  Ns sum{};
  for (const Budget& step : device.steps)
    for (std::size_t c = 0; c < static_cast<std::size_t>(idle_data); ++c) sum += step.time[c];
  return sum;
}

}  // namespace

TimeBudget time_budget(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                       const CommSplit& split) {
  TimeBudget budget;
  if (steps.empty()) return budget;
  if (rank.cpu_only()) {
    budget.devices.push_back(cpu_budget(trace, rank, steps, split));
  } else {
    const std::vector<ThreadWaits> waits = host_waits(trace, rank);
    const EventWaits events = event_waits(trace, rank);
    const IdleContext context{trace, rank, waits, events, waits_for_earlier_work(trace, rank)};
    for (const DeviceLane& lane : rank.devices)
      budget.devices.push_back(device_budget(context, lane, steps, split));
  }
  const auto most = std::ranges::max_element(budget.devices, {}, work);
  budget.chosen = static_cast<std::size_t>(most - budget.devices.begin());
  for (const DeviceBudget& device : budget.devices)
    for (std::size_t i = 0; i < steps.size(); ++i)
      check(device.steps[i].sum() == steps[i].end - steps[i].start,
            "the categories of a step sum to its wall time");
  for (const Budget& step : budget.rank().steps) budget.total += step;
  return budget;
}

std::vector<BudgetPiece> budget_pieces(const Trace& trace, const RankIndex& rank,
                                       std::span<const Step> steps, const CommSplit& split,
                                       const DeviceBudget& device) {
  if (steps.empty()) return {};
  if (rank.cpu_only()) return cpu_pieces(trace, rank, steps, split);
  const auto lane = std::ranges::find(rank.devices, device.device, &DeviceLane::device);
  check(lane != rank.devices.end(), "the budget is of a device of the rank");
  std::vector<BudgetPiece> pieces;
  auto idle = device.idle.begin();
  const auto add_idle_before = [&](Ns at) {
    for (; idle != device.idle.end() && idle->start < at; ++idle)
      append_piece(pieces, {idle->start, idle->end, idle->cause, idle->step});
  };
  StepCursor cursor(steps);
  DeviceSweep sweep = sweep_of(trace, *lane, split);
  sweep.run(steps.front().start, steps.back().end,
            [&](Ns start, Ns end, const DeviceSweep::Open& open) {
              if (is_free(open)) return;
              add_idle_before(start);
              cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
                append_piece(
                    pieces, {from, to, device_category_of(open), static_cast<std::uint32_t>(step)});
              });
            });
  add_idle_before(Ns::max());
  return pieces;
}

namespace {

enum WindowLayer : std::size_t { window_compute, window_comm, window_copy, window_layers };

WindowLayer layer_of(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::kernel) return window_copy;
  return trace.is_communication(op) ? window_comm : window_compute;
}

GpuWindow window_of(const Trace& trace, const DeviceLane& lane) {
  IntervalSweep<window_layers> sweep;
  sweep.reserve(lane.ops.size());
  for (const SliceId op : lane.ops)
    if (!trace.is_wait(op))
      sweep.add(layer_of(trace, op), trace.slices.start[index(op)], trace.slices.end(op));
  GpuWindow w{.device = lane.device, .start = lane.start, .end = lane.end};
  sweep.run(lane.start, lane.end, [&](Ns start, Ns end, const auto& open) {
    const Ns length = end - start;
    if (open[window_compute] > 0) w.compute += length;
    if (open[window_comm] > 0) w.comm += length;
    if (open[window_copy] > 0) w.copy += length;
    if (open[window_compute] > 0 && open[window_comm] > 0) w.overlap += length;
    const bool any = open[window_compute] > 0 || open[window_comm] > 0 || open[window_copy] > 0;
    (any ? w.busy : w.idle) += length;
  });
  return w;
}

}  // namespace

std::vector<GpuWindow> gpu_windows(const Trace& trace, const RankIndex& rank) {
  std::vector<GpuWindow> windows;
  for (const DeviceLane& lane : rank.devices) windows.push_back(window_of(trace, lane));
  return windows;
}

}  // namespace stepscope

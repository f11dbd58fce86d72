// SPDX-License-Identifier: Apache-2.0
// One sweep per device. The kinds of open work decide the category. If no work is open, the gap is
// explained by its cause.
#include "stepscope/analysis/budget/time_budget.h"

#include <algorithm>
#include <numeric>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// The cause of a gap [a, b] in which a device had no work. The gap ends with an operation whose
// launch call is [l0, l1]. It is split at l0:
//   [a, l0]  The host had not yet come to the launch: it loaded data, blocked in a synchronising
//            call, or prepared.
//   [l0, b]  The launch itself. If the trace proves that the operation's stream waited for an event
//            whose producer ended no earlier than a and l0, the cause is that wait.
// Without a launch call the gap is unexplained.
//
// The recording cannot vouch for some gaps. They are not_recorded, and nobody's:
//   - From the first launch on whose kernel was lost, if it lies between the launches of the
//     operations before and after the gap: that kernel ran there.
//   - Between two operations of one graph launch, if longer than graph_node_gap: the host did one
//     call, and which node waited for what has no row.
//   - After the launch call of the first operation of a stream, if it takes longer than
//     first_row_delay: the stream waited for work from before the recording.
//   - After the launch call of an operation whose stream has to wait for an event, if the
//     recording has no call that recorded an event until then.
//   - Before a launch call whose thread shows no row, while the main thread waits for results.
//   - Before the first row of the rank, and after its last: the job's step lasts longer than its
//     recording.
// Before a launch call of a host that has rows of calls and no others, a millisecond without any
// call is unexplained: what the host did then was not recorded.

// A kernel that is queued behind another of its stream begins soon after that ends. Kernels in
// shared traces without waits between streams begin within 20 µs on V100 (34,000 kernels), and
// within 6 µs on H100 and MI300X (8,000).
constexpr Ns graph_node_gap = std::chrono::microseconds{20};
// The first rows of 40 streams in 24 shared traces begin at most 22 µs after their call; those of
// two more begin 1 ms and 64 ms after it, behind work that was launched before the recording.
constexpr Ns first_row_delay = std::chrono::microseconds{100};

struct IdleContext {
  const Trace& trace;
  const RankIndex& rank;
  const std::vector<ThreadWaits>& waits;
  const EventWaits& events;
  std::vector<Ns> earlier{};  // waits_for_earlier_work()
  RowSpan rows{};
  bool host_unseen = false;  // it has calls of the runtime and no row of what it does between them
};

// Appends pieces of one gap.
class Pieces {
 public:
  Pieces(const IdleContext& context, SliceId op, std::vector<IdlePiece>& out)
      : context_(context), op_(op), out_(out) {}

  void add(Ns start, Ns end, BudgetCategory cause, std::uint32_t host, SliceId culprit = no_slice) {
    if (start >= end) return;
    out_.push_back({.start = start,
                    .end = end,
                    .delayed = op_,
                    .culprit = culprit,
                    .host = host,
                    .cause = cause});
  }

  // The thread's own data and sync rows; `otherwise(start, end)` gets the rest.
  template <class Otherwise>
  void of_thread(std::uint32_t thread, Ns start, Ns end, Otherwise&& otherwise) {
    const ThreadWaits& waits = context_.waits[thread];
    const auto no_data = [&](Ns from, Ns to) {
      const auto sync = [&](Ns s, Ns e, SliceId row) { add(s, e, idle_sync, thread, row); };
      cut(waits.sync, from, to, sync, otherwise);
    };
    const auto data = [&](Ns s, Ns e, SliceId row) { add(s, e, idle_data, thread, row); };
    cut(waits.data, start, end, data, no_data);
  }

  // The part of a gap before the launch call. If the launching thread shows no row, it waits for
  // the main thread. The thread of the backward graph does so before it wakes. A main thread that
  // waits for results has done its part, and what keeps the launching thread has no row.
  void before_launch(std::uint32_t thread, Ns start, Ns end) {
    const auto& main = context_.rank.main_track;
    const bool other = main && index(*main) != thread;
    of_thread(thread, start, end, [&](Ns from, Ns to) {
      if (!other && !(context_.host_unseen && to - from >= least_unseen))
        return add(from, to, idle_host, thread);
      if (!other) {
        const auto calls = [&](Ns s, Ns e, SliceId) { add(s, e, idle_host, thread); };
        return cut(context_.waits[thread].present, from, to, calls, [&](Ns s, Ns e) {
          add(s, e, e - s < least_unseen ? idle_host : idle_unexplained, thread);
        });
      }
      const auto present = [&](Ns s, Ns e, SliceId) { add(s, e, idle_host, thread); };
      const auto absent = [&](Ns s, Ns e) {
        const std::uint32_t at = index(*main);
        of_thread(at, s, e, [&](Ns f, Ns t) {
          const auto waits = [&](Ns w, Ns v, SliceId row) { add(w, v, not_recorded, at, row); };
          cut(context_.waits[at].results, f, t, waits,
              [&](Ns w, Ns v) { add(w, v, idle_host, at); });
        });
      };
      cut(context_.waits[thread].present, from, to, present, absent);
    });
  }

  // Nothing more was launched, so only rows of the main thread count.
  void after_last(Ns start, Ns end) {
    if (!context_.rank.main_track) return add(start, end, idle_unexplained, no_row);
    const std::uint32_t main = index(*context_.rank.main_track);
    of_thread(main, start, end, [&](Ns from, Ns to) {
      const auto present = [&](Ns s, Ns e, SliceId) { add(s, e, idle_host, main); };
      const auto absent = [&](Ns s, Ns e) { add(s, e, idle_unexplained, main); };
      cut(context_.waits[main].present, from, to, present, absent);
    });
  }

 private:
  const IdleContext& context_;
  SliceId op_;
  std::vector<IdlePiece>& out_;
};

Ns launched_at(const IdleContext& context, SliceId op, Ns otherwise) {
  if (op == no_slice) return otherwise;
  const SliceId call = context.rank.launch(op);
  return context.trace.slices.start[index(call == no_slice ? op : call)];
}

// The first launch without a row between those of the operations around a gap.
SliceId lost_between(const IdleContext& context, SliceId before, SliceId op) {
  const std::vector<SliceId>& lost = context.rank.lost_launches;
  const auto start = [&](SliceId call) { return context.trace.slices.start[index(call)]; };
  const auto at =
      std::ranges::upper_bound(lost, launched_at(context, before, Ns::min()), {}, start);
  return at == lost.end() || start(*at) >= launched_at(context, op, Ns::max()) ? no_slice : *at;
}

// The operation before on the stream, or no_slice.
SliceId before_on_stream(const Trace& trace, SliceId op) {
  std::uint32_t row = index(op);
  const std::uint32_t first = trace.track(trace.slices.track[row]).first;
  while (row-- > first)
    if (is_device_work(trace.slices.category[row])) return SliceId{row};
  return no_slice;
}

// Whether work from before the recording held the operation back, which began so long after its
// launch call.
bool waits_for_earlier(const IdleContext& context, SliceId op, SliceId call) {
  const Slices& s = context.trace.slices;
  if (s.start[index(op)] - s.end(call) < first_row_delay) return false;
  const SliceId previous = before_on_stream(context.trace, op);
  if (previous == no_slice) return true;
  const auto wait =
      std::ranges::upper_bound(context.earlier, launched_at(context, previous, Ns::min()));
  return wait != context.earlier.end() && *wait < s.start[index(call)];
}

// Calls that make a stream wait for an event that was recorded before the recording began: those
// before the first call that records one. Ascending.
std::vector<Ns> waits_for_earlier_work(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  const auto names_with = [&](std::string_view part) {
    return by_name(trace.strings, [&](std::string_view name) { return contains(name, part); });
  };
  const std::vector<bool> records = names_with("EventRecord");
  const std::vector<bool> waits = names_with("StreamWaitEvent");
  std::vector<Ns> called;
  Ns first_record = Ns::max();
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_call(s.category[i])) continue;
      if (records[index(s.name[i])]) first_record = std::min(first_record, s.start[i]);
      if (waits[index(s.name[i])]) called.push_back(s.start[i]);
    }
  }
  std::ranges::sort(called);
  called.erase(std::ranges::lower_bound(called, first_record), called.end());
  return called;
}

// Appends pieces that tile [start, end) in order. `before` and `op` are the operations of the
// device before and after the gap. After the last operation `op` is no_slice, and the main thread's
// rows explain the gap.
void explain_gap(const IdleContext& context, Ns start, Ns end, SliceId before, SliceId op,
                 std::vector<IdlePiece>& out) {
  const Slices& s = context.trace.slices;
  Pieces pieces(context, op, out);
  if (const SliceId lost = lost_between(context, before, op); lost != no_slice) {
    const Ns from = std::clamp(s.start[index(lost)], start, end);
    pieces.before_launch(index(s.track[index(lost)]), start, from);
    return pieces.add(from, end, not_recorded, index(s.track[index(lost)]), lost);
  }
  if (before == no_slice && start < context.rows.first) {
    const Ns recorded = std::min(context.rows.first, end);
    pieces.add(start, recorded, not_recorded, no_row);
    if (recorded == end) return;
    start = recorded;
  }
  if (op == no_slice) {
    const Ns recorded = std::clamp(context.rows.last, start, end);
    pieces.after_last(start, recorded);
    return pieces.add(recorded, end, not_recorded, no_row);
  }
  const SliceId call = context.rank.launch(op);
  if (call == no_slice) return pieces.add(start, end, idle_unexplained, no_row);

  const Ns launched = s.start[index(call)];
  const std::uint32_t thread = index(s.track[index(call)]);
  if (before != no_slice && context.rank.launch(before) == call && end - start > graph_node_gap &&
      is_graph_launch(context.trace.name(call)))
    return pieces.add(start, end, not_recorded, thread, call);
  const Ns split = std::clamp(launched, start, end);
  pieces.before_launch(thread, start, split);
  if (split == end) return;
  SliceId producer = no_slice;
  if (!context.events.waits.empty())
    producer = producer_of(context.events, context.trace, context.rank, op);
  const bool waited =
      producer != no_slice && s.end(producer) >= start && s.end(producer) >= launched;
  const bool earlier = !waited && waits_for_earlier(context, op, call);
  const Ns returned = earlier ? std::clamp(s.end(call), split, end) : end;
  pieces.add(split, returned, waited ? idle_dependency : idle_launch, thread,
             waited ? producer : no_slice);
  pieces.add(returned, end, not_recorded, thread, call);
}

// Whether some row of the host is more than a call of the device's runtime.
bool shows_host(const Trace& trace) {
  return std::ranges::any_of(trace.slices.category, [](Category c) {
    return c == Category::cpu_op || c == Category::user_annotation ||
           c == Category::python_function || c == Category::other;
  });
}

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

DeviceBudget device_budget(const IdleContext& context, const DeviceLane& lane,
                           std::span<const Step> steps, const CommSplit& split) {
  DeviceBudget result{.device = lane.device, .steps = std::vector<Budget>(steps.size())};
  DeviceSweep sweep = sweep_of(context.trace, lane, split);
  const Slices& s = context.trace.slices;
  std::size_t next = 0;  // the operation that ends a gap; those without length do not
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
    const auto ends_gap = [&](SliceId op) {
      return s.start[index(op)] >= end && s.dur[index(op)] > Ns{0};
    };
    while (next < lane.ops.size() && !ends_gap(lane.ops[next])) ++next;
    gap.clear();
    explain_gap(context, start, end, next > 0 ? lane.ops[next - 1] : no_slice,
                next < lane.ops.size() ? lane.ops[next] : no_slice, gap);
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
                       const CommSplit& split, RowSpan rows) {
  TimeBudget budget;
  if (steps.empty()) return budget;
  if (rank.cpu_only()) {
    budget.devices.push_back(cpu_budget(trace, rank, steps, split));
  } else {
    const std::vector<ThreadWaits> waits = host_waits(trace, rank);
    const EventWaits events = event_waits(trace, rank);
    const IdleContext context{
        trace, rank, waits, events, waits_for_earlier_work(trace, rank), rows, !shows_host(trace)};
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
  const DeviceLane* lane = rank.lane(device.device);
  check(lane != nullptr, "the budget is of a device of the rank");
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

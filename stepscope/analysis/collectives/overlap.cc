// SPDX-License-Identifier: Apache-2.0
// The budget already has C, M and their intersection. Only the schedule bound needs the intervals
// again.
#include "stepscope/analysis/collectives/overlap.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "stepscope/analysis/budget/cpu_budget.h"
#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

Ns communication(const Budget& b) {
  return b[comm_overlapped] + b[comm_exposed_wait] + b[comm_exposed_transfer] +
         b[comm_exposed_unsplit];
}

// Limits from the order of one step, in addition to |C| and |M|.
struct Order {
  Ns first = Ns::max();  // start of the first and of the last communication
  Ns last = Ns::min();
  Ns before_first{};  // compute before the first and before the last communication
  Ns before_last{};
  Ns from_last{};  // communication from the start of the last one on
};

std::vector<Order> orders(const Trace& trace, const DeviceLane& lane, std::span<const Step> steps) {
  enum Layer : std::size_t { compute_work, comm_work };
  std::vector<Order> order(steps.size());
  IntervalSweep<2> sweep;
  sweep.reserve(lane.ops.size());
  StepCursor by_start(steps);
  for (const SliceId op : lane.ops) {
    if (trace.slices.category[index(op)] != Category::kernel) continue;
    const Ns start = trace.slices.start[index(op)];
    const Ns end = trace.slices.end(op);
    const bool comm = trace.is_communication(op);
    if (trace.is_wait(op)) continue;
    sweep.add(comm ? comm_work : compute_work, start, end);
    if (!comm) continue;
    by_start.place(start, end, [&](std::size_t step, Ns from, Ns) {
      order[step].first = std::min(order[step].first, from);
      order[step].last = std::max(order[step].last, from);
    });
  }
  StepCursor cursor(steps);
  sweep.run(steps.front().start, steps.back().end, [&](Ns start, Ns end, const auto& open) {
    cursor.place(start, end, [&](std::size_t step, Ns from, Ns to) {
      Order& o = order[step];
      if (open[compute_work] > 0 && from < o.first) o.before_first += to - from;
      if (open[compute_work] > 0 && from < o.last) o.before_last += to - from;
      if (open[comm_work] > 0 && from >= o.last) o.from_last += to - from;
    });
  });
  return order;
}

}  // namespace

std::optional<Overlap> overlap(const Trace& trace, const RankIndex& rank,
                               std::span<const Step> steps, const TimeBudget& budget) {
  constexpr std::size_t most_contended = 20;
  if (communication(budget.total) == Ns{}) return std::nullopt;
  Overlap result;
  std::vector<Order> order;
  if (!rank.cpu_only()) order = orders(trace, rank.devices[budget.chosen], steps);
  Ns bound{};
  Ns possible{};  // time that could overlap
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Budget& b = budget.rank().steps[i];
    const Ns wall = steps[i].end - steps[i].start;
    const Ns both = b[comm_overlapped];
    const Ns compute_time = b[compute] + both;
    const Ns comm_time = communication(b);
    const Ns longer = std::max(compute_time, comm_time);
    const Ns rest = wall - (compute_time + comm_time - both);
    result.compute += compute_time;
    result.comm += comm_time;
    result.overlap += both;
    result.step += wall;
    result.no_overlap += wall + both;
    result.perfect_overlap += rest + longer;
    possible += std::min(compute_time, comm_time);
    if (order.empty()) continue;
    bound += rest + std::max({longer, order[i].before_first + comm_time,
                              order[i].before_last + order[i].from_last});
  }
  result.ratio =
      static_cast<double>(result.overlap.count()) / static_cast<double>(result.comm.count());
  if (possible > Ns{})
    result.efficiency =
        static_cast<double>(result.overlap.count()) / static_cast<double>(possible.count());
  if (rank.cpu_only()) return result;
  result.schedule_bound = bound;
  result.contention = contention(trace, rank.devices[budget.chosen], most_contended);
  return result;
}

namespace {

// Disjoint intervals in order, with the total length before each.
struct Union {
  std::vector<Ns> start;
  std::vector<Ns> end;
  std::vector<Ns> before;

  // Intervals must arrive by start.
  void add(Ns from, Ns to) {
    if (to <= from) return;
    if (!end.empty() && from <= end.back()) {
      end.back() = std::max(end.back(), to);
      return;
    }
    before.push_back(end.empty() ? Ns{0} : before.back() + end.back() - start.back());
    start.push_back(from);
    end.push_back(to);
  }
  // Length of the part before `t`.
  [[nodiscard]] Ns until(Ns t) const {
    const auto after = std::ranges::upper_bound(start, t);
    if (after == start.begin()) return Ns{0};
    const auto i = static_cast<std::size_t>(after - start.begin() - 1);
    return before[i] + std::min(t, end[i]) - start[i];
  }
};

Union host_compute(const RankView& view) {
  std::vector<std::pair<Ns, Ns>> spans;
  for (const CpuWork& work : cpu_work(*view.trace, *view.index))
    for (const HostSpan& span : work.computing) spans.emplace_back(span.start, span.end);
  run_sort(spans, std::less{});
  Union compute;
  for (const auto& [from, to] : spans) compute.add(from, to);
  return compute;
}

Union device_compute(const Trace& trace, const DeviceLane& lane) {
  Union compute;
  for (const SliceId op : lane.ops) {
    if (trace.is_compute(op)) compute.add(trace.slices.start[index(op)], trace.slices.end(op));
  }
  return compute;
}

}  // namespace

std::vector<Ns> exposed_times(const RankView& view, std::span<const CollectiveCall> calls) {
  std::map<int, Union> compute;  // by device
  if (view.index->cpu_only()) compute[-1] = host_compute(view);
  for (const DeviceLane& lane : view.index->devices)
    compute[lane.device] = device_compute(*view.trace, lane);
  std::vector<Ns> exposed;
  exposed.reserve(calls.size());
  for (const CollectiveCall& call : calls) {
    const int device = view.index->cpu_only() ? -1 : view.trace->track(call.stream).device_index;
    const Union& busy = compute[device];
    exposed.push_back(call.end - call.start - (busy.until(call.end) - busy.until(call.start)));
  }
  return exposed;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/exposed.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "stepscope/analysis/budget/cpu_work.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
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

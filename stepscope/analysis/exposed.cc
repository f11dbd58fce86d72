// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/exposed.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace stepscope {
namespace {

// Disjoint intervals in order, with the length of all before each.
struct Union {
  std::vector<Ns> start;
  std::vector<Ns> end;
  std::vector<Ns> before;

  // Intervals arrive by start.
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

using Intervals = std::vector<std::pair<Ns, Ns>>;

void add_leaves(const Trace& trace, const Track& track, Intervals& leaves) {
  const Slices& s = trace.slices;
  Ns communicating = Ns::min();  // until when this thread is inside a communication operator
  bool open = false;
  std::pair<Ns, Ns> leaf;
  const auto close = [&](Ns next) {
    if (open && next >= leaf.second) leaves.push_back(leaf);
    open = false;
  };
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    const bool communicates = trace.operator_class[index(s.name[i])] == NameClass::communication;
    const Ns end = s.start[i] + s.dur[i];
    if (s.category[i] != Category::cpu_op && !(communicates && is_host(s.category[i]))) continue;
    close(s.start[i]);
    if (communicates) communicating = std::max(communicating, end);
    if (communicates || s.start[i] < communicating) continue;
    leaf = {s.start[i], end};
    open = true;
  }
  close(Ns::max());
}

bool runs_backward(const Trace& trace, const Track& track) {
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (trace.name(SliceId{i}).starts_with("autograd::engine::evaluate_function")) return true;
  }
  return false;
}

Union host_compute(const RankView& view) {
  Intervals leaves;
  for (const TrackId id : view.index->host_tracks) {
    const Track& track = view.trace->track(id);
    if (id == view.index->main_track || runs_backward(*view.trace, track))
      add_leaves(*view.trace, track, leaves);
  }
  std::ranges::sort(leaves);
  Union compute;
  for (const auto& [from, to] : leaves) compute.add(from, to);
  return compute;
}

Union device_compute(const Trace& trace, const DeviceLane& lane) {
  Union compute;
  for (const SliceId op : lane.ops) {
    if (trace.slices.category[index(op)] == Category::kernel && !trace.is_communication(op))
      compute.add(trace.slices.start[index(op)], trace.slices.end(op));
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

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/ddp_buckets.h"

#include <algorithm>
#include <map>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// The reducer's kernel waits for earlier launches of its thread: the last of them to start.
std::optional<Ns> ready_on_device(const RankView& view, const CollectiveCall& call) {
  constexpr std::ptrdiff_t max_rows_back = 8192;
  const Slices& s = view.trace->slices;
  const DeviceLane* lane = lane_of(view, call);
  if (lane == nullptr) return std::nullopt;
  const auto start_of = [&](SliceId op) { return s.start[index(op)]; };
  const auto last = std::ranges::upper_bound(lane->ops, call.start, {}, start_of);
  const auto first = last - std::min(max_rows_back, last - lane->ops.begin());
  for (auto at = last; at != first;) {
    const SliceId op = *--at;
    const SliceId launch = view.index->launch(op);
    if (launch == no_slice || view.trace->is_communication(op) || view.trace->is_wait(op)) continue;
    const bool same_thread = s.track[index(launch)] == s.track[index(call.launch)];
    if (same_thread && start_of(launch) < start_of(call.launch)) return s.end(op);
  }
  return std::nullopt;
}

// The last operator to end on the thread before the all-reduce was requested.
std::optional<Ns> ready_on_host(const Trace& trace, SliceId launch) {
  const Slices& s = trace.slices;
  const Track& track = trace.track(s.track[index(launch)]);
  const Ns at = s.start[index(launch)];
  for (std::uint32_t i = index(launch); i-- > track.first;) {
    const bool computes =
        s.category[i] == Category::cpu_op && s.kind[i] != NameClass::communication;
    if (computes && s.end(SliceId{i}) <= at) return s.end(SliceId{i});
  }
  return std::nullopt;
}

}  // namespace

AccumulateRows::AccumulateRows(const Trace& trace) : trace_(&trace), names_(trace.strings.size()) {
  for (std::uint32_t i = 0; i < names_.size(); ++i)
    names_[i] = contains(trace.strings[StringId{i}], "AccumulateGrad");
}

bool AccumulateRows::contain(SliceId launch) const {
  constexpr std::uint32_t most_rows = 256;  // inside one hook
  if (launch == no_slice) return false;
  const Slices& s = trace_->slices;
  const std::uint32_t first = trace_->track(s.track[index(launch)]).first;
  const Ns at = s.start[index(launch)];
  for (std::uint32_t i = index(launch) + 1, seen = 0; i-- > first && seen < most_rows; ++seen)
    if (named(s.name[i]) && s.end(SliceId{i}) >= at) return true;
  return false;
}

std::vector<DdpBucket> find_ddp_buckets(const RankView& view, const RankCalls& rank,
                                        std::span<const Ns> exposed) {
  const AccumulateRows accumulates(*view.trace);
  std::vector<DdpBucket> buckets;
  std::map<std::uint32_t, std::uint32_t> next;  // step → bucket
  for (std::size_t c = 0; c < rank.calls.size(); ++c) {
    const CollectiveCall& call = rank.calls[c];
    if (call.kind != CollectiveKind::all_reduce || call.launch == no_slice || !call.step) continue;
    if (!accumulates.contain(call.launch)) continue;
    buckets.push_back({.step = view.steps[*call.step].index,
                       .bucket = next[*call.step]++,
                       .bytes = call.bytes,
                       .ready = view.index->cpu_only() ? ready_on_host(*view.trace, call.launch)
                                                       : ready_on_device(view, call),
                       .launched = view.trace->slices.start[index(call.launch)],
                       .done = call.end,
                       .exposed = exposed[c]});
  }
  return buckets;
}

}  // namespace stepscope

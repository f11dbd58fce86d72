// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/ddp_buckets.h"

#include <algorithm>
#include <map>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

class BucketFinder {
 public:
  explicit BucketFinder(const RankView& view) : view_(view), trace_(*view.trace) {}
  [[nodiscard]] std::optional<Ns> ready(const CollectiveCall& call) const;

 private:
  [[nodiscard]] std::optional<Ns> ready_on_device(const CollectiveCall& call) const;
  [[nodiscard]] std::optional<Ns> ready_on_host(SliceId launch) const;

  const RankView& view_;
  const Trace& trace_;
};

// The reducer's kernel waits for earlier launches of its thread: the last of them to start.
std::optional<Ns> BucketFinder::ready_on_device(const CollectiveCall& call) const {
  constexpr std::ptrdiff_t walk = 8192;
  const Slices& s = trace_.slices;
  const int device = trace_.track(call.stream).device_index;
  const auto lane = std::ranges::find(view_.index->devices, device, &DeviceLane::device);
  if (lane == view_.index->devices.end()) return std::nullopt;
  const auto start_of = [&](SliceId op) { return s.start[index(op)]; };
  const auto last = std::ranges::upper_bound(lane->ops, call.start, {}, start_of);
  const auto first = last - std::min(walk, last - lane->ops.begin());
  for (auto at = last; at != first;) {
    const SliceId op = *--at;
    const SliceId launch = view_.index->launch(op);
    if (launch == no_slice || trace_.is_communication(op) || trace_.is_wait(op)) continue;
    const bool same_thread = s.track[index(launch)] == s.track[index(call.launch)];
    if (same_thread && start_of(launch) < start_of(call.launch)) return s.end(op);
  }
  return std::nullopt;
}

// The last operator to end on the thread before the all-reduce was requested.
std::optional<Ns> BucketFinder::ready_on_host(SliceId launch) const {
  const Slices& s = trace_.slices;
  const Track& track = trace_.track(s.track[index(launch)]);
  const Ns at = s.start[index(launch)];
  for (std::uint32_t i = index(launch); i-- > track.first;) {
    const bool computes =
        s.category[i] == Category::cpu_op && s.kind[i] != NameClass::communication;
    if (computes && s.end(SliceId{i}) <= at) return s.end(SliceId{i});
  }
  return std::nullopt;
}

std::optional<Ns> BucketFinder::ready(const CollectiveCall& call) const {
  return view_.index->cpu_only() ? ready_on_host(call.launch) : ready_on_device(call);
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
  const BucketFinder finder(view);
  const AccumulateRows accumulates(*view.trace);
  std::vector<DdpBucket> buckets;
  std::map<std::uint32_t, std::uint32_t> next;  // step → bucket
  for (std::size_t c = 0; c < rank.calls.size(); ++c) {
    const CollectiveCall& call = rank.calls[c];
    if (call.kind != CollectiveKind::all_reduce || call.launch == no_slice || !call.step) continue;
    if (!accumulates.contain(call.launch)) continue;
    DdpBucket bucket;
    bucket.step = view.steps[*call.step].index;
    bucket.bucket = next[*call.step]++;
    bucket.bytes = call.bytes;
    bucket.ready = finder.ready(call);
    bucket.launched = view.trace->slices.start[index(call.launch)];
    bucket.done = call.end;
    bucket.exposed = exposed[c];
    buckets.push_back(bucket);
  }
  return buckets;
}

}  // namespace stepscope

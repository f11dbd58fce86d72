// SPDX-License-Identifier: Apache-2.0
// The host threads of one rank with a device, and the calls in which they wait for it.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "stepscope/analysis/budget/allocation_retries.h"
#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/graph/step_graph_draft.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_queue = 200;  // operations launched and not ended, at least
constexpr std::int64_t many_times = 5;    // the usual length of a launch call

}  // namespace

// A launch returns late while the device's queue is full: it waits for an operation to end, with
// hundreds of others launched before it. The host is held up, not slow.
void DeviceDraft::find_full_queues() {
  std::vector<SliceId> calls;
  std::vector<Ns> ends;
  std::vector<Ns> older;  // ends of operations that were launched before the recording
  std::vector<Ns> durations;
  for (const SliceId op : index_.operations()) {
    const SliceId call = index_.launch(op);
    if (call == no_slice) older.push_back(end(op));
    if (call == no_slice || !is_launch_call(trace_.name(call))) continue;
    ends.push_back(end(op));
    calls.push_back(call);
    durations.push_back(end(call) - start(call));
  }
  if (calls.empty()) return;
  std::ranges::stable_sort(calls, {}, [&](SliceId call) { return start(call); });
  std::ranges::sort(ends);
  std::ranges::sort(older);
  const auto ended_by = [](const std::vector<Ns>& some, Ns at) {
    return static_cast<std::size_t>(std::ranges::upper_bound(some, at) - some.begin());
  };
  const Ns tenth = order_statistic(durations, durations.size() / 10);  // most may wait
  const Ns late = std::max(shortest_hole, many_times * tenth);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Ns returned = end(calls[i]);
    if (returned - start(calls[i]) < late) continue;
    const std::size_t launched = i + older.size();
    if (launched >= least_queue + ended_by(ends, returned) + ended_by(older, returned))
      mark_[index(calls[i])] |= 4U;
  }
}

void DeviceDraft::points_of(TrackId id) {
  const Slices& s = trace_.slices;
  const Track& track = trace_.track(id);
  std::optional<Ns> busy_until;
  auto first_hole = static_cast<std::uint32_t>(holes_.size());
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    if (s.category[i] != Category::cpu_op && !is_call(s.category[i])) continue;
    if (!busy_until || s.start[i] > *busy_until + shortest_hole)
      holes_.push_back({busy_until.value_or(Ns::min()), s.start[i]});
    busy_until = std::max(busy_until.value_or(Ns::min()), s.start[i] + s.dur[i]);
    if (mark_[i] == 0 || s.start[i] >= until_) continue;
    points_.push_back({.at = s.start[i],
                       .end = s.end(SliceId{i}),
                       .call = SliceId{i},
                       .track = id,
                       .sync = (mark_[i] & 2U) != 0,
                       .full = (mark_[i] & 6U) == 4U,
                       .first_hole = first_hole,
                       .end_hole = static_cast<std::uint32_t>(holes_.size())});
    first_hole = points_.back().end_hole;
  }
}

// Marks the calls that launch. A long call that launches several operations, as a graph, and
// returns after the last of them has ended, waits for them.
void DeviceDraft::find_launches() {
  mark_.assign(trace_.slices.size(), 0);
  std::unordered_map<std::uint32_t, Ns> last_end;  // by slice of such a call
  for (const SliceId op : ops_) {
    const SliceId call = index_.launch(op);
    if (call == no_slice) continue;
    std::uint8_t& mark = mark_[index(call)];
    if (mark != 0 && end(call) - start(call) > return_of_call) {
      Ns& last = last_end[index(call)];
      last = std::max(last, end(op));
    }
    mark |= 1U;
  }
  for (const auto& [call, last] : last_end)
    if (last <= trace_.slices.end(SliceId{call})) mark_[call] |= 2U;
}

void DeviceDraft::find_points() {
  const Ns host_from = std::min(from_, input_.view.steps.front().host_start);
  find_launches();
  for (const ThreadWaits& thread : host_waits(trace_, index_))
    for (const HostSpan& span : thread.sync)
      if (span.start >= host_from) mark_[index(span.row)] |= 2U;
  find_full_queues();
  for (const TrackId track : index_.host_tracks) points_of(track);
  for (const HostSpan& pause : allocation_retries(trace_, index_, input_.view.steps).pauses)
    if (pause.start >= from_ && pause.end < until_)
      points_.push_back({.at = pause.start,
                         .end = pause.end,
                         .call = pause.row,
                         .track = trace_.slices.track[index(pause.row)],
                         .sync = true});
  std::ranges::stable_sort(points_, {}, [](const Point& p) { return p.at; });
}

void DeviceDraft::add_host() {
  host_node_.assign(trace_.slices.size(), no_node);
  std::vector<std::uint32_t> last(trace_.tracks.size(), no_node);  // of each thread
  std::vector<Ended> passed;                                       // all threads, by instant
  for (const Point& point : points_) {
    const std::uint32_t before = last[index(point.track)];
    std::uint32_t other = no_node;
    Ns begin = before == no_node ? point.at : draft_.end_of(before);
    // The thread that worked in the last hole in which one did. The rest of that hole is host time.
    for (std::uint32_t h = point.end_hole; h-- > point.first_hole && other == no_node;) {
      const auto after = first_after(passed, holes_[h].end);
      if (after == passed.begin() || (after - 1)->at < holes_[h].start) continue;
      other = (after - 1)->node;
      begin = draft_.end_of(other);
    }
    const std::uint32_t node =
        draft_.add(NodeKind::host, std::min(begin, point.at), point.at, point.call);
    draft_.connect(before, node);
    if (other != before) draft_.connect(other, node);
    host_node_[index(point.call)] = node;
    last[index(point.track)] = node;
    passed.push_back({point.at, node});
    if (point.sync || point.full) {
      const std::uint32_t back = draft_.add(NodeKind::sync, point.end, point.end, point.call);
      draft_.connect(node, back);
      (point.full ? full_queues_ : syncs_).push_back({node, back, point.call, point.at, point.end});
      last[index(point.track)] = back;
      if (point.full) host_node_[index(point.call)] = back;
    }
  }
  last_of_track_ = std::move(last);
}

// The operation that ended last before the call returned, if it ended within the call and was
// launched before it.
std::vector<std::uint32_t> DeviceDraft::awaited_by(const Sync& sync) const {
  auto at = std::ranges::upper_bound(ended_, sync.end + clock_lead_, {}, &EndedOperation::at);
  while (at != ended_.begin() && (--at)->at > sync.start) {
    const SliceId launch = index_.launch(ops_[at->number]);
    if (launch == no_slice || start(launch) <= sync.start) return {op_last_[at->number]};
  }
  return {};
}

// A call waits for the operations that the learned order names, else for awaited_by(). It returns
// up to `return_of_call` after their end; what it takes longer has no recorded cause. Without such
// an operation a short call is the host's own time, and a long one waits for what was not recorded.
// A call whose own copy goes on after it only waits until the copy may begin, and then copies.
void DeviceDraft::close_sync(const Sync& sync, std::vector<std::uint32_t> nodes) {
  const auto copy = copy_of_.find(index(sync.call));
  const bool copies =
      copy != copy_of_.end() && draft_.end_of(op_last_[copy->second]) > sync.end + clock_lead_;
  if (copies) {
    nodes.clear();
    if (const std::uint32_t held = held_[copy->second].other; held != no_node) nodes = {held};
  } else if (nodes.empty()) {
    nodes = awaited_by(sync);
  }
  Ns last = Ns::min();
  for (const std::uint32_t n : nodes) last = std::max(last, draft_.end_of(n));
  if (!nodes.empty()) {
    const std::uint32_t wait = draft_.add(NodeKind::wait, last, last, sync.call);
    for (const std::uint32_t n : nodes) draft_.edges.emplace_back(n, wait);
    draft_.edges.emplace_back(wait, sync.node);
  }
  // A call that frees or maps memory goes on when the device has ended.
  const bool works = copies || is_allocator_call(trace_.name(sync.call));
  const Ns left = sync.end - std::max(last, sync.start);
  const bool waited = last > sync.start && !(works && left > return_of_call);
  if (!waited && !works && left > return_of_call) return;
  const Ns own = waited ? std::clamp(left, Ns{0}, return_of_call) : left;
  draft_.start[sync.node] = sync.end - own;
  draft_.duration[sync.node] = own;
  if (!waited) draft_.kind[sync.node] = NodeKind::host;
}

}  // namespace stepscope

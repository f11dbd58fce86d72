// SPDX-License-Identifier: Apache-2.0
// One rank with a device: host threads, launches, streams.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "stepscope/analysis/budget/allocation_retries.h"
#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/graph/device_holds.h"
#include "stepscope/analysis/graph/learned_order.h"
#include "stepscope/analysis/graph/step_graph_draft.h"
#include "stepscope/analysis/steps/event_waits.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/base/release.h"
#include "stepscope/base/string_pool.h"

namespace stepscope {
namespace {

constexpr Ns most_clock_lead = std::chrono::milliseconds{1};
constexpr Ns most_first_latency = std::chrono::microseconds{100};
constexpr Ns rounding = std::chrono::microseconds{1};  // coarsest rounding of recorded instants
constexpr Ns wake_up = std::chrono::microseconds{20};  // from a communication's end to later work
constexpr std::size_t least_queue = 200;  // operations launched and not ended, at least
constexpr std::int64_t many_times = 5;    // the usual length of a launch call
constexpr Ns return_of_call = std::chrono::microseconds{100};  // from the awaited end

// A call by which a host thread did something visible to the device or to other ranks.
struct Point {
  Ns at{};
  Ns end{};  // of the wait, if it waits
  SliceId call = no_slice;
  TrackId track{};
  bool sync = false;
  bool full = false;             // a launch that waited for room in the device's queue
  std::uint32_t first_hole = 0;  // of the thread since the point before: [first, end) in holes_
  std::uint32_t end_hole = 0;
};

// A thread has no row in [start, end).
struct Hole {
  Ns start{};
  Ns end{};
};

struct Ended {
  Ns at{};
  std::uint32_t node = no_node;
};

class DeviceDraft final : public DraftInParts {
 public:
  explicit DeviceDraft(const ViewInput& input)
      : input_(input),
        trace_(*input.view.trace),
        index_(*input.view.index),
        from_(input.view.steps.front().start),
        until_(input.view.steps.back().end),
        events_(event_waits(trace_, index_)) {}

  void begin();
  [[nodiscard]] std::vector<OrderedUse> uses() override;
  ViewDraft finish(std::span<const UseOrder> orders) override;

 private:
  struct Sync {
    std::uint32_t host = no_node;
    std::uint32_t node = no_node;
    SliceId call = no_slice;
    Ns start{};
    Ns end{};
  };
  void find_operations();
  void find_points();
  void points_of(TrackId track);
  void find_full_queues();
  void find_least_latency();
  void find_clock_lead();
  void add_host();
  void add_operations();
  void add_operation(SliceId op, std::uint32_t number);
  [[nodiscard]] std::uint32_t launched_before(SliceId op) const;
  void add_called_waits(std::vector<OrderedUse>& all) const;
  void note_idle(SliceId op, std::uint32_t node, Ns ready, const Ended& ended);
  void add_holds();
  void close_sync(const Sync& sync, std::vector<std::uint32_t> nodes);
  void add_ends();
  [[nodiscard]] std::int32_t step_of_call(Ns instant) const;
  [[nodiscard]] std::int32_t step_of(SliceId op) const;
  [[nodiscard]] Ns end(SliceId id) const { return trace_.slices.end(id); }
  [[nodiscard]] Ns start(SliceId id) const { return trace_.slices.start[index(id)]; }

  const ViewInput& input_;
  const Trace& trace_;
  const RankIndex& index_;
  Ns from_;
  Ns until_;
  EventWaits events_;
  ViewDraft draft_;

  std::vector<SliceId> ops_;             // of all devices, starting in the steps, by start
  std::vector<std::uint32_t> call_row_;  // parallel to ops_: row of calls, or no_row
  std::vector<std::uint8_t> mark_;  // by slice: 1 launches, 2 synchronises, 4 waits for the queue
  std::vector<Point> points_;       // by instant
  std::vector<Hole> holes_;         // by thread
  std::vector<std::uint32_t> host_node_;  // by slice, of the call's `host` node
  std::vector<std::uint32_t> last_node_;  // by slice, of a device operation
  std::vector<std::uint32_t> last_of_track_;
  bool launches_recorded_ = false;  // of most operations
  Ns least_latency_{};
  Ns clock_lead_{};  // of the device before the host
  struct Launched {
    Ns at{};
    std::uint32_t op = 0;  // index into ops_
  };
  std::vector<Launched> launched_;       // compute and copies, by launch
  std::vector<std::uint32_t> op_first_;  // parallel to ops_: the node that waits for earlier work
  std::vector<std::uint32_t> op_last_;   // likewise: the node that ends with it
  std::vector<Ns> op_ready_;             // likewise: the end of everything known to hold it
  std::vector<Ended> ended_;             // operations that ended so far, by end
  std::vector<Sync> syncs_;
  std::vector<Sync> full_queues_;
  std::vector<std::uint32_t> by_launch_;  // uses() in ops_, then in syncs_
  // The last operation of a device, and its idle stretches with the nodes on both sides.
  struct DeviceIdle {
    Ended last;
    std::vector<IdleStretch> stretches;
    std::vector<GraphEdge> between;  // parallel
  };
  std::vector<DeviceIdle> idle_;          // by device
  std::vector<std::uint32_t> device_of_;  // by track
};

void DeviceDraft::find_operations() {
  for (const DeviceLane& lane : index_.devices)
    for (const SliceId op : lane.ops)
      if (start(op) >= from_ && start(op) < until_) ops_.push_back(op);
  idle_.resize(index_.devices.size());
  device_of_.assign(trace_.tracks.size(), 0);
  for (std::uint32_t d = 0; d < index_.devices.size(); ++d)
    for (const SliceId op : index_.devices[d].ops)
      device_of_[index(trace_.slices.track[index(op)])] = d;
  if (index_.devices.size() > 1)
    std::ranges::stable_sort(ops_, {}, [&](SliceId op) { return start(op); });
  std::vector<std::uint32_t> row_of(trace_.slices.size(), no_row);
  for (std::uint32_t c = 0; c < input_.calls.calls.size(); ++c)
    row_of[index(input_.calls.calls[c].slice)] = c;
  for (const SliceId op : ops_) call_row_.push_back(row_of[index(op)]);
  const auto launched =
      std::ranges::count_if(ops_, [&](SliceId op) { return index_.launch(op) != no_slice; });
  launches_recorded_ = 2 * launched > std::ssize(ops_);
}

// A launch returns late while the device's queue is full: it waits for an operation to end, with
// hundreds of others launched before it. The host is held up, not slow.
void DeviceDraft::find_full_queues() {
  struct Call {
    Ns start{};
    Ns end{};
    SliceId call = no_slice;
  };
  std::vector<Call> calls;
  std::vector<Ns> ends;
  std::vector<Ns> older;  // ends of operations that were launched before the recording
  std::vector<Ns> durations;
  for (const DeviceLane& lane : index_.devices)
    for (const SliceId op : lane.ops) {
      const SliceId call = index_.launch(op);
      if (call == no_slice) older.push_back(end(op));
      if (call == no_slice || !is_launch_call(trace_.name(call))) continue;
      ends.push_back(end(op));
      calls.push_back({start(call), end(call), call});
      durations.push_back(end(call) - start(call));
    }
  if (calls.empty()) return;
  std::ranges::stable_sort(calls, {}, &Call::start);
  std::ranges::sort(ends);
  std::ranges::sort(older);
  const auto ended_by = [](const std::vector<Ns>& some, Ns at) {
    return static_cast<std::size_t>(std::ranges::upper_bound(some, at) - some.begin());
  };
  const auto tenth = durations.begin() + std::ssize(durations) / 10;  // most may wait
  std::ranges::nth_element(durations, tenth);
  const Ns late = std::max(shortest_hole, many_times * *tenth);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& c = calls[i];
    if (c.end - c.start < late) continue;
    const std::size_t launched = i + older.size();
    if (launched - std::min(launched, ended_by(ends, c.end) + ended_by(older, c.end)) >=
        least_queue)
      mark_[index(c.call)] |= 4U;
  }
}

// Least latency from the return of a launch call to its operation: the tenth percentile over
// operations launched while nothing ran that they could wait for.
void DeviceDraft::find_least_latency() {
  Ns busy_until = Ns::min();
  std::vector<Ns> latency;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const SliceId op = ops_[i];
    const SliceId call = index_.launch(op);
    const bool empty = call != no_slice && busy_until <= start(call) && start(op) >= start(call);
    // Work from before the recording may keep the first operation waiting.
    const bool queued = i == 0 && empty && start(op) - end(call) > most_first_latency;
    if (empty && !queued && call_row_[i] == no_row)
      latency.push_back(std::max(Ns{0}, start(op) - end(call)));
    busy_until = std::max(busy_until, end(op));
  }
  if (latency.empty()) return;
  const auto tenth = latency.begin() + static_cast<std::ptrdiff_t>(latency.size() / 10);
  std::ranges::nth_element(latency, tenth);
  least_latency_ = *tenth;
}

// The device's clock may be some µs ahead of the host's, so operations seem to start before their
// launch. Returns the largest such lead that can be a clock error.
void DeviceDraft::find_clock_lead() {
  for (const SliceId op : ops_)
    if (const SliceId call = index_.launch(op); call != no_slice)
      if (const Ns lead = start(call) - start(op); lead <= most_clock_lead)
        clock_lead_ = std::max(clock_lead_, lead);
}

void DeviceDraft::points_of(TrackId id) {
  const Slices& s = trace_.slices;
  const Track& track = trace_.track(id);
  std::optional<Ns> busy_until;
  auto first_hole = static_cast<std::uint32_t>(holes_.size());
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    const Category c = s.category[i];
    if (c != Category::cpu_op && c != Category::runtime && c != Category::driver) continue;
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

void DeviceDraft::find_points() {
  const Ns host_from = std::min(from_, input_.view.steps.front().host_start);
  mark_.assign(trace_.slices.size(), 0);
  for (const SliceId op : ops_)
    if (const SliceId call = index_.launch(op); call != no_slice) mark_[index(call)] |= 1U;
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

// The last operation launched before this one, except communication: index into ops_, or no_use.
std::uint32_t DeviceDraft::launched_before(SliceId op) const {
  const SliceId call = index_.launch(op);
  if (call == no_slice) return no_use;
  const auto at = std::ranges::lower_bound(launched_, start(call), {}, &Launched::at);
  return at == launched_.begin() ? no_use : (at - 1)->op;
}

void DeviceDraft::note_idle(SliceId op, std::uint32_t node, Ns ready, const Ended& ended) {
  DeviceIdle& idle = idle_[device_of_[index(trace_.slices.track[index(op)])]];
  if (idle.last.node != no_node && start(op) - idle.last.at >= least_idle_stretch) {
    idle.stretches.push_back({idle.last.at, start(op), ready});
    idle.between.push_back({idle.last.node, node});
  }
  if (idle.last.node == no_node || idle.last.at <= ended.at) idle.last = ended;
}

void DeviceDraft::add_holds() {
  for (const DeviceIdle& idle : idle_)
    for (const std::size_t i : find_holds(idle.stretches)) {
      const auto [before, after] = idle.between[i];
      const auto [since, until, ready] = idle.stretches[i];
      const std::uint32_t held = draft_.add(NodeKind::held, since, until, draft_.slice[after]);
      draft_.edges.emplace_back(before, held);
      draft_.edges.emplace_back(held, after);
    }
}

void DeviceDraft::add_operation(SliceId op, std::uint32_t number) {
  const Category category = trace_.slices.category[index(op)];
  const std::uint32_t row = call_row_[number];
  const bool communication = row != no_row || trace_.is_communication(op);
  std::uint32_t node = no_node;
  std::uint32_t last = no_node;
  if (row != no_row) {
    last = add_call(draft_, input_, row, node);
  } else {
    const NodeKind kind = communication                  ? NodeKind::comm
                          : category == Category::kernel ? NodeKind::compute
                                                         : NodeKind::copy;
    node = last = draft_.add(kind, start(op), end(op), op);
  }
  if (draft_.begin == no_node) draft_.begin = node;
  op_first_[number] = node;
  op_last_[number] = last;
  Ns ready = Ns::min();
  // For operations that must have ended, by stream order or by an event, despite rounding.
  const auto after = [&](std::uint32_t other) {
    if (other == no_node || draft_.end_of(other) > start(op) + rounding) return;
    draft_.edges.emplace_back(other, node);
    ready = std::max(ready, draft_.end_of(other));
  };
  const SliceId call = index_.launch(op);
  const std::uint32_t host = call == no_slice ? no_node : host_node_[index(call)];
  if (host != no_node && draft_.end_of(host) <= start(op) + clock_lead_) {
    const Ns launched = draft_.end_of(host);
    const Ns until = std::clamp(start(op), launched, end(call) + least_latency_);
    const std::uint32_t launch = draft_.add(NodeKind::launch, launched, until, call);
    draft_.edges.emplace_back(host, launch);
    draft_.edges.emplace_back(launch, node);  // even where the clocks say otherwise
    ready = until;
  }
  std::uint32_t& stream = last_of_track_[index(trace_.slices.track[index(op)])];
  if (stream != no_node && draft_.end_of(stream) > start(op)) ++draft_.overlapping;
  after(stream);
  stream = last;
  if (!events_.waits.empty()) {
    if (const SliceId producer = producer_of(events_, trace_, index_, op); producer != no_slice)
      after(last_node_[index(producer)]);
  }
  op_ready_[number] = ready;
  last_node_[index(op)] = last;
  const Ended ended{draft_.end_of(last), last};
  note_idle(op, node, ready, ended);
  ended_.insert(first_after(ended_, ended.at), ended);
}

void DeviceDraft::add_operations() {
  op_first_.assign(ops_.size(), no_node);
  op_last_.assign(ops_.size(), no_node);
  op_ready_.assign(ops_.size(), Ns::min());
  last_node_.assign(trace_.slices.size(), no_node);
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const SliceId call = index_.launch(ops_[i]);
    if (call != no_slice && call_row_[i] == no_row && !trace_.is_communication(ops_[i]))
      launched_.push_back({start(call), i});
  }
  std::ranges::stable_sort(launched_, {}, &Launched::at);
  for (std::uint32_t i = 0; i < ops_.size(); ++i) add_operation(ops_[i], i);
}

// A call waits for the operations that the learned order names, else for the one that ended last
// before it returned, if that ended within the call. Without such an operation the call is the
// host's own time.
void DeviceDraft::close_sync(const Sync& sync, std::vector<std::uint32_t> nodes) {
  if (nodes.empty()) {
    const auto after = std::ranges::upper_bound(ended_, sync.end + clock_lead_, {}, &Ended::at);
    if (after != ended_.begin() && (after - 1)->at > sync.start) nodes.push_back((after - 1)->node);
  }
  Ns last = Ns::min();
  for (const std::uint32_t n : nodes) last = std::max(last, draft_.end_of(n));
  if (!nodes.empty()) {
    const std::uint32_t wait = draft_.add(NodeKind::wait, last, last, sync.call);
    for (const std::uint32_t n : nodes) draft_.edges.emplace_back(n, wait);
    draft_.edges.emplace_back(wait, sync.node);
  }
  // A call that frees or maps memory goes on when the device has ended.
  const bool works = is_allocator_call(trace_.name(sync.call));
  const Ns since = std::max(last, sync.start);
  if (last > sync.start && !(works && sync.end - since > return_of_call)) return;
  draft_.start[sync.node] = since;
  draft_.duration[sync.node] = sync.end - since;
  draft_.kind[sync.node] = NodeKind::host;
}

// Ordinal of the step whose annotation, or the time after it, contains the call; -1 before all.
std::int32_t DeviceDraft::step_of_call(Ns instant) const {
  const auto& steps = input_.view.steps;
  return static_cast<std::int32_t>(std::ranges::upper_bound(steps, instant, {}, &Step::host_start) -
                                   steps.begin()) -
         1;
}

// Ordinal of the step that launched the operation; -1 for what was launched before the recording
// and still ran in it. Where launches are not recorded, the step in which it runs.
std::int32_t DeviceDraft::step_of(SliceId op) const {
  if (const SliceId call = index_.launch(op); call != no_slice) return step_of_call(start(call));
  if (launches_recorded_) return -1;
  const auto& steps = input_.view.steps;
  return static_cast<std::int32_t>(std::ranges::upper_bound(steps, start(op), {}, &Step::start) -
                                   steps.begin()) -
         1;
}

// A kernel follows the last two calls of communication that its host awaited before it.
void DeviceDraft::add_called_waits(std::vector<OrderedUse>& all) const {
  const std::vector<CalledWait> waits = called_waits(trace_, index_);
  if (waits.empty()) return;
  std::unordered_map<std::uint32_t, std::uint32_t> number;  // by slice
  for (std::uint32_t i = 0; i < ops_.size(); ++i) number[index(ops_[i])] = i;
  for (const CalledWait& wait : waits) {
    const auto before = number.find(index(wait.communication));
    const auto after = number.find(index(wait.kernel));
    if (before == number.end() || after == number.end()) continue;
    auto& follows = all[after->second].follows;
    follows = {before->second, follows[0]};
  }
}

std::vector<OrderedUse> DeviceDraft::uses() {
  std::vector<std::uint64_t> hash_of(trace_.strings.size(), 0);
  const auto name = [&](SliceId row) {
    const StringId id = trace_.slices.name[index(row)];
    std::uint64_t& hash = hash_of[index(id)];
    if (hash == 0) hash = text_hash(trace_.strings[id]) | 1U;
    return hash;
  };
  std::vector<OrderedUse> all;
  std::vector<Ns> launched;
  all.reserve(ops_.size() + syncs_.size());
  launched.reserve(ops_.size() + syncs_.size());
  const bool recorded = !events_.waits.empty();  // the waits of streams are in the trace
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const SliceId op = ops_[i];
    const SliceId call = index_.launch(op);
    const bool communication = call_row_[i] != no_row || trace_.is_communication(op);
    all.push_back({.name = name(op),
                   .step = step_of(op),
                   .lane = index(trace_.slices.track[index(op)]),
                   .ready = op_ready_[i],
                   .start = start(op),
                   .end = end(op),
                   .wake_up = recorded ? -rounding : wake_up,
                   .communication = communication,
                   .follows = {communication && !recorded ? launched_before(op) : no_use, no_use}});
    launched.push_back(call == no_slice ? start(op) : start(call));
  }
  if (!recorded) add_called_waits(all);
  for (const Sync& sync : syncs_) {
    all.push_back({.name = name(sync.call) - 1,
                   .step = step_of_call(sync.start),
                   .lane = no_lane,
                   .ready = sync.start,
                   .start = sync.end + clock_lead_,
                   .end = sync.end + clock_lead_,
                   .wake_up = return_of_call + clock_lead_});
    launched.push_back(sync.start);
  }
  // What is left of a step before the recording has other places than in a whole step.
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].step >= 0) by_launch_.push_back(i);
  std::ranges::stable_sort(by_launch_, [&](std::uint32_t a, std::uint32_t b) {
    return all[a].step != all[b].step ? all[a].step < all[b].step : launched[a] < launched[b];
  });
  std::vector<std::uint32_t> place(all.size(), no_use);
  for (std::uint32_t k = 0; k < by_launch_.size(); ++k) place[by_launch_[k]] = k;
  std::vector<OrderedUse> sorted;
  sorted.reserve(all.size());
  for (const std::uint32_t i : by_launch_) {
    sorted.push_back(all[i]);
    for (std::uint32_t& before : sorted.back().follows)
      if (before != no_use) before = place[before];
  }
  release(call_row_);
  release(launched_);
  release(op_ready_);
  return sorted;
}

// A step ends when the last operation that it launched ends.
void DeviceDraft::add_ends() {
  draft_.end = draft_.add(NodeKind::end, until_, until_, no_slice);
  for (const std::uint32_t last : last_of_track_) draft_.connect(last, draft_.end);
  std::vector<std::map<TrackId, std::uint32_t>> last_of(input_.view.steps.size());
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const std::int32_t step = step_of(ops_[i]);
    if (step >= 0)
      last_of[static_cast<std::size_t>(step)][trace_.slices.track[index(ops_[i])]] = op_last_[i];
  }
  for (const auto& tracks : last_of) {
    Ns last = Ns::min();
    for (const auto& [track, node] : tracks) last = std::max(last, draft_.end_of(node));
    std::uint32_t end_node = no_node;
    if (!tracks.empty()) end_node = draft_.add(NodeKind::end, last, last, no_slice);
    for (const auto& [track, node] : tracks) draft_.edges.emplace_back(node, end_node);
    draft_.step_end.push_back(end_node);
  }
}

void DeviceDraft::begin() {
  draft_.arrival.assign(input_.calls.calls.size(), no_node);
  draft_.transfer.assign(input_.calls.calls.size(), no_node);
  find_operations();
  find_least_latency();
  find_clock_lead();
  find_points();
  draft_.reserve(2 * (points_.size() + ops_.size()));
  add_host();
  add_operations();
  add_holds();
  release(mark_);
  release(host_node_);
  release(last_node_);
  release(points_);
  release(holes_);
}

ViewDraft DeviceDraft::finish(std::span<const UseOrder> orders) {
  std::vector<std::vector<std::uint32_t>> awaited(syncs_.size());
  for (const UseOrder& order : orders) {
    const std::uint32_t before = op_last_[by_launch_[order.before]];
    const std::uint32_t after = by_launch_[order.after];
    if (after < ops_.size())
      draft_.edges.emplace_back(before, op_first_[after]);
    else
      awaited[after - ops_.size()].push_back(before);
  }
  for (std::size_t i = 0; i < syncs_.size(); ++i) close_sync(syncs_[i], std::move(awaited[i]));
  for (const Sync& full : full_queues_) close_sync(full, {});
  add_ends();
  return std::move(draft_);
}

}  // namespace

std::unique_ptr<DraftInParts> begin_device_view(const ViewInput& input) {
  auto draft = std::make_unique<DeviceDraft>(input);
  draft->begin();
  return draft;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The operations of one rank's devices: their launches, their streams, and what else holds them.
#include <algorithm>
#include <map>

#include "stepscope/analysis/graph/step_graph_draft.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/base/string_pool.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr Ns most_clock_lead = std::chrono::milliseconds{1};
constexpr Ns rounding = std::chrono::microseconds{1};  // coarsest rounding of recorded instants
constexpr Ns wake_up = std::chrono::microseconds{20};  // from a communication's end to later work
// The most by which a launch exceeds the least latency. In 31 recordings (V100 to H100, MI250,
// MI300X) 21 of 18,928 launches to idle devices took longer: 20 of them waited for other processes
// or for work from before, 0.9 ms and more.
constexpr Ns most_latency = std::chrono::microseconds{20};
constexpr Ns most_first_latency = std::chrono::microseconds{100};

}  // namespace

DeviceDraft::DeviceDraft(const ViewInput& input)
    : input_(input),
      trace_(*input.view.trace),
      index_(*input.view.index),
      from_(input.view.steps.front().start),
      until_(input.view.steps.back().end),
      events_(event_waits(trace_, index_)) {
  draft_.arrival.assign(input_.calls.calls.size(), no_node);
  draft_.transfer.assign(input_.calls.calls.size(), no_node);
  find_operations();
  find_points();
  find_least_latency();
  find_clock_lead();
  draft_.reserve(2 * (points_.size() + ops_.size()));
  add_host();
  add_operations();
  add_waits_from_before();
  add_holds();
  release(mark_);
  release(host_node_);
  release(points_);
  release(holes_);
}

void DeviceDraft::find_operations() {
  for (const SliceId op : index_.operations())
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
  places_ = stream_order(trace_, index_, ops_);
  launch_order_ = launch_order(trace_, index_, ops_);
}

// Least latency from the return of a launch call to its operation: the tenth percentile over
// operations launched while nothing ran that they could wait for. Calls that wait do not count.
void DeviceDraft::find_least_latency() {
  Ns busy_until = Ns::min();
  std::vector<Ns> latency;
  std::vector<Ns> calls;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const SliceId op = ops_[i];
    const SliceId call = index_.launch(op);
    const bool free = call != no_slice && (mark_[index(call)] & 6U) == 0;
    if (free) calls.push_back(end(call) - start(call));
    const bool empty = free && busy_until <= start(call) && start(op) >= start(call);
    // Work from before the recording may keep the first operation of a stream waiting.
    const bool queued =
        places_[i].before == no_use && empty && start(op) - end(call) > most_first_latency;
    if (empty && !queued && call_row_[i] == no_row)
      latency.push_back(std::max(Ns{0}, start(op) - end(call)));
    busy_until = std::max(busy_until, places_[i].end);
  }
  const auto tenth_of = [](std::vector<Ns>& times) {
    return times.empty() ? Ns{0} : order_statistic(times, times.size() / 10);
  };
  least_latency_ = tenth_of(latency);
  usual_call_ = tenth_of(calls);
}

// The device's clock may be some µs ahead of the host's, so operations seem to start before their
// launch. Returns the largest such lead that can be a clock error.
void DeviceDraft::find_clock_lead() {
  for (const SliceId op : ops_)
    if (const SliceId call = index_.launch(op); call != no_slice)
      if (const Ns lead = start(call) - start(op); lead <= most_clock_lead)
        clock_lead_ = std::max(clock_lead_, lead);
}

// The last operation launched before this one, except communication: index into ops_, or no_use.
std::uint32_t DeviceDraft::launched_before(std::uint32_t number) const {
  if (launch_order_[number] == 0) return no_use;
  const auto at = std::ranges::lower_bound(launched_, launch_order_[number], {}, &Launched::at);
  return at == launched_.begin() ? no_use : (at - 1)->op;
}

void DeviceDraft::note_idle(std::uint32_t number, const Ended& ended) {
  const SliceId op = ops_[number];
  DeviceIdle& idle = idle_[device_of_[index(trace_.slices.track[index(op)])]];
  if (idle.last.node != no_node && start(op) - idle.last.at >= least_idle_stretch) {
    idle.stretches.push_back({idle.last.at, start(op), ready(number)});
    idle.between.push_back({idle.last.node, op_first_[number]});
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

// A node of a launched graph waits for the nodes before it on its stream. The first on a stream
// waits for the launch, and for the node of the same launch that ended last before it. A call that
// waits has handed its operation over when a call usually returns.
void DeviceDraft::add_launch(std::uint32_t number) {
  const SliceId op = ops_[number];
  const SliceId call = index_.launch(op);
  if (call == no_slice) return;
  const std::uint32_t before = places_[number].before;
  if (before != no_use && index_.launch(ops_[before]) == call) return;
  const std::uint32_t host = host_node_[index(call)];
  if (host == no_node || draft_.end_of(host) > start(op) + clock_lead_) return;
  const Ns launched = draft_.end_of(host);
  const bool waits = (mark_[index(call)] & 2U) != 0;
  if (waits) copy_of_.emplace(index(call), number);
  const Ns returned = waits ? std::min(end(call), launched + usual_call_) : end(call);
  const Ns until = std::clamp(start(op), launched, returned + least_latency_);
  held_[number].launch = draft_.add(NodeKind::launch, launched, until, call);
  draft_.connect(host, held_[number].launch);
  if ((mark_[index(call)] & 8U) != 0) follow_last(number, launched, call);
  mark_[index(call)] |= 8U;
}

// By stream order or by an event, so `before` has ended, despite rounding.
void DeviceDraft::follow(std::uint32_t before, std::uint32_t number) {
  const Ns end = draft_.end_of(op_last_[before]);
  if (end > start(ops_[number]) + rounding) return;
  draft_.edges.emplace_back(op_last_[before], op_first_[number]);
  if (end >= end_of(held_[number].other)) held_[number].other = op_last_[before];
}

// Whether an event that `number` waits for can stand for the end of `before`: that was launched
// before it, or by the same launch of a graph.
bool DeviceDraft::may_await(std::uint32_t number, std::uint32_t before) const {
  const SliceId call = index_.launch(ops_[number]);
  const SliceId call_before = index_.launch(ops_[before]);
  if (call != no_slice && call_before != no_slice) return start(call_before) <= start(call);
  if (call != no_slice || !launches_recorded_) return true;
  return call_before == no_slice &&
         index_.launch_number(ops_[before]) <= index_.launch_number(ops_[number]);
}

// Follows the operation that ended last, after `since`, before this one began. With a launch: of
// its operations; else of other streams, if it ended at most `wake_up` before.
void DeviceDraft::follow_last(std::uint32_t number, Ns since, SliceId launch) {
  const Ns begin = start(ops_[number]);
  auto at = std::ranges::upper_bound(ended_, begin + rounding, {}, &EndedOperation::at);
  while (at != ended_.begin()) {
    --at;
    if (at->at <= since || (launch == no_slice && begin - at->at > wake_up)) return;
    if (at->number >= number) continue;
    const bool fits = launch == no_slice ? may_await(number, at->number)
                                         : index_.launch(ops_[at->number]) == launch;
    if (fits) return follow(at->number, number);
  }
}

void DeviceDraft::add_operation(std::uint32_t number) {
  const SliceId op = ops_[number];
  const StreamPlace& place = places_[number];
  const std::uint32_t row = call_row_[number];
  std::uint32_t node = no_node;
  std::uint32_t last = no_node;
  const Ns until = place.unknown_end ? start(op) : place.end;
  if (row != no_row) {
    last = add_call(draft_, input_, row, node);
    draft_.duration[last] = std::clamp(until - draft_.start[last], Ns{0}, draft_.duration[last]);
  } else {
    const bool kernel = trace_.slices.category[index(op)] == Category::kernel;
    const NodeKind kind = is_communication(number) ? NodeKind::comm
                          : kernel                 ? NodeKind::compute
                                                   : NodeKind::copy;
    node = last = draft_.add(kind, start(op), until, op);
  }
  if (draft_.begin == no_node) draft_.begin = node;
  op_first_[number] = node;
  op_last_[number] = last;
  add_launch(number);
  if (place.before != no_use) follow(place.before, number);
  if (!events_.waits.empty())
    if (const SliceId producer = producer_of(events_, trace_, index_, op);
        producer != no_slice && number_of_[index(producer)] < number)
      follow(number_of_[index(producer)], number);
  std::uint32_t& of_track = last_of_track_[index(trace_.slices.track[index(op)])];
  const Ended ended{draft_.end_of(last), last};
  if (of_track == no_node || draft_.end_of(of_track) <= ended.at) of_track = last;
  note_idle(number, ended);
  ended_.insert(first_after(ended_, ended.at), {ended.at, number});
}

void DeviceDraft::add_operations() {
  op_first_.assign(ops_.size(), no_node);
  op_last_.assign(ops_.size(), no_node);
  held_.assign(ops_.size(), {});
  number_of_.assign(trace_.slices.size(), no_use);
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    number_of_[index(ops_[i])] = i;
    if (launch_order_[i] != 0 && !is_communication(i)) launched_.push_back({launch_order_[i], i});
  }
  std::ranges::stable_sort(launched_, {}, &Launched::at);
  for (std::uint32_t i = 0; i < ops_.size(); ++i) add_operation(i);
}

// The operations that were launched before the recording are part of no whole step, from which the
// order of streams could be learned. Their communication follows the library's rule: c10d lets the
// stream of a collective wait for the current stream.
void DeviceDraft::add_waits_from_before() {
  if (!launches_recorded_) return;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (index_.launch(ops_[i]) != no_slice || !is_communication(i)) continue;
    if (const std::uint32_t before = launched_before(i); before != no_use) follow(before, i);
  }
}

// A stream with work does not stand idle: it waits for an event, which was recorded before the
// work was launched. Where nothing known explains why an operation begins late, it waited for the
// operation of another stream, launched before it, that ended last, if it began within `wake_up`
// of that end. Where the waits of streams are recorded, only operations launched before the
// recording need this. Without launches it is unknown whether the work was there before.
void DeviceDraft::add_seen_waits() {
  if (!launches_recorded_) return;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (!events_.waits.empty() && index_.launch(ops_[i]) != no_slice) continue;
    const Ns since = std::max(ready(i), from_);
    if (start(ops_[i]) - since > wake_up) follow_last(i, since, no_slice);
  }
}

// A launch lasts until its operation begins if nothing else came later than it, but not longer than
// the call and the latency. An operation that is the first of its stream and begins much later
// waited for work from before the recording: it does not wait for its launch.
void DeviceDraft::close_launches() {
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const auto [launch, other] = held_[i];
    if (launch == no_node) continue;
    const Ns begin = start(ops_[i]);
    const Ns returned = end(index_.launch(ops_[i])) + least_latency_;
    if (end_of(other) <= draft_.end_of(launch)) {
      const Ns until = begin <= returned + most_latency ? begin : returned;
      if (until > draft_.end_of(launch)) draft_.duration[launch] = until - draft_.start[launch];
    }
    if (other == no_node && begin - draft_.end_of(launch) > most_first_latency) continue;
    draft_.edges.emplace_back(launch, op_first_[i]);  // even where the clocks say otherwise
  }
}

// A kernel follows the last two calls of communication that its host awaited before it.
void DeviceDraft::add_called_waits(std::vector<OrderedUse>& all) const {
  const std::vector<CalledWait> waits = called_waits(trace_, index_);
  if (waits.empty()) return;
  for (const CalledWait& wait : waits) {
    const std::uint32_t before = number_of_[index(wait.communication)];
    const std::uint32_t after = number_of_[index(wait.kernel)];
    if (before == no_use || after == no_use) continue;
    auto& follows = all[after].follows;
    follows = {before, follows[0]};
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
    const bool communication = is_communication(i);
    all.push_back({.name = name(op),
                   .step = step_of(op),
                   .lane = index(trace_.slices.track[index(op)]),
                   .ready = ready(i),
                   .start = start(op),
                   .end = places_[i].end,
                   .wake_up = recorded ? -rounding : wake_up,
                   .communication = communication,
                   .follows = {communication && !recorded ? launched_before(i) : no_use, no_use}});
    launched.push_back(call == no_slice ? start(op) : start(call));
  }
  if (!recorded) add_called_waits(all);
  for (const Sync& sync : syncs_) {
    all.push_back({.name = name(sync.call) - 1,
                   .step = last_step_of_host(input_.view.steps, sync.start),
                   .lane = no_lane,
                   .ready = sync.start,
                   .start = sync.end + clock_lead_,
                   .end = sync.end + clock_lead_,
                   .wake_up = return_of_call + clock_lead_});
    launched.push_back(sync.start);
  }
  // What is left of a step before the recording has other places than in a whole step. Without
  // launches the order in which the host asked is not known.
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].step >= 0 && launches_recorded_) by_launch_.push_back(i);
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
  release(places_);
  release(launch_order_);
  release(launched_);
  release(number_of_);
  return sorted;
}

// The main thread works on until its annotation of the last step ends. If the device's work ends
// just before, the thread waited for it.
void DeviceDraft::add_last_host() {
  if (!index_.main_track || input_.view.steps.back().host_end != until_) return;
  if (!ended_.empty() && until_ - ended_.back().at <= return_of_call) return;
  std::uint32_t& last = last_of_track_[index(*index_.main_track)];
  if (last == no_node || draft_.end_of(last) >= until_) return;
  const std::uint32_t node =
      draft_.add(NodeKind::host, draft_.end_of(last), until_, draft_.slice[last]);
  draft_.connect(last, node);
  last = node;
}

// A step ends when the last operation that it launched ends.
void DeviceDraft::add_ends() {
  draft_.end = draft_.add(NodeKind::end, until_, until_, no_slice);
  for (const std::uint32_t last : last_of_track_) draft_.connect(last, draft_.end);
  std::vector<std::map<TrackId, std::uint32_t>> last_of(input_.view.steps.size());
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const std::int32_t step = step_of(ops_[i]);
    if (step < 0) continue;
    const auto [at, fresh] = last_of[static_cast<std::size_t>(step)].try_emplace(
        trace_.slices.track[index(ops_[i])], op_last_[i]);
    if (!fresh && draft_.end_of(at->second) <= draft_.end_of(op_last_[i])) at->second = op_last_[i];
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

ViewDraft DeviceDraft::finish(std::span<const UseOrder> orders) {
  std::vector<std::vector<std::uint32_t>> awaited(syncs_.size());
  for (const UseOrder& order : orders) {
    const std::uint32_t before = by_launch_[order.before];
    const std::uint32_t after = by_launch_[order.after];
    if (after < ops_.size())
      follow(before, after);
    else
      awaited[after - ops_.size()].push_back(op_last_[before]);
  }
  add_seen_waits();
  close_launches();
  for (std::size_t i = 0; i < syncs_.size(); ++i) close_sync(syncs_[i], std::move(awaited[i]));
  for (const Sync& full : full_queues_) close_sync(full, {});
  add_last_host();
  add_ends();
  return std::move(draft_);
}

}  // namespace stepscope

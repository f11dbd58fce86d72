// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/host_waits.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/ascii.h"
#include "stepscope/event/name_match.h"

namespace stepscope {
namespace {

// Runtime and driver calls that return after the device has finished something:
// cudaStreamSynchronize, hipDeviceSynchronize, cuEventSynchronize, zeEventHostSynchronize, SYCL's
// urQueueFinish; plain cudaMemcpy.
bool blocks(std::string_view call) {
  if (contains(call, "Synchronize") || contains(call, "QueueFinish") || contains(call, "EventWait"))
    return true;
  return contains(call, "Memcpy") && !contains(call, "Async");
}

// By call: true if it copied pageable memory. Such a call waits for its stream, asynchronous or
// not: it returns when a copy to the host is done, and when a copy to the device has been staged
// (CUDA Runtime API, "API synchronization behavior"). A small copy to the device is queued with the
// call, which has returned when it begins.
std::vector<bool> blocking_copies(const Trace& trace, const RankIndex& rank) {
  std::vector<bool> blocking;
  for (const SliceId op : rank.operations()) {
    if (trace.slices.category[index(op)] != Category::memcpy) continue;
    const SliceId call = rank.launch(op);
    if (call == no_slice || trace.slices.end(call) <= trace.slices.start[index(op)]) continue;
    if (!contains(trace.name(op), "Pageable")) continue;
    blocking.resize(trace.slices.size());
    blocking[index(call)] = true;
  }
  return blocking;
}

}  // namespace

std::vector<std::vector<HostSpan>> calls_during_copies(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::vector<std::vector<HostSpan>> spans(trace.tracks.size());
  for (const SliceId op : rank.operations()) {
    const SliceId call = rank.launch(op);
    if (s.category[index(op)] != Category::memcpy || call == no_slice) continue;
    const Ns start = std::max(s.start[index(call)], s.start[index(op)]);
    const Ns end = std::min(s.end(call), s.end(op));
    if (start < end) spans[index(s.track[index(call)])].push_back({start, end, call});
  }
  for (std::vector<HostSpan>& of_track : spans) std::ranges::sort(of_track, {}, &HostSpan::start);
  return spans;
}

void extend(std::vector<HostSpan>& spans, Ns start, Ns end, SliceId row) {
  if (start >= end) return;
  if (spans.empty() || start > spans.back().end)
    spans.push_back({start, end, row});
  else
    spans.back().end = std::max(spans.back().end, end);
}

bool waits_for_results(std::string_view name) {
  return name.starts_with('$') &&
         (name.ends_with(" block_until_ready") || name.ends_with(" try_to_block"));
}

std::vector<ThreadWaits> host_waits(const Trace& trace, const RankIndex& rank) {
  const std::vector<std::optional<Phase>> phases = phases_of_names(trace.strings);
  const std::vector<bool> blocking_name = by_name(trace.strings, blocks);
  const std::vector<bool> blocking_copy = blocking_copies(trace, rank);
  const std::vector<bool> for_results = by_name(trace.strings, waits_for_results);

  const Slices& s = trace.slices;
  std::vector<ThreadWaits> waits(trace.tracks.size());
  for (const TrackId id : rank.host_tracks) {
    ThreadWaits& thread = waits[index(id)];
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (!is_host_row(s.category[i])) continue;
      const Ns end = s.start[i] + s.dur[i];
      const std::uint32_t name = index(s.name[i]);
      const bool sync = is_call(s.category[i]) &&
                        (blocking_name[name] || (!blocking_copy.empty() && blocking_copy[i]));
      if (sync) extend(thread.sync, s.start[i], end, SliceId{i});
      if (phases[name] == Phase::data) extend(thread.data, s.start[i], end, SliceId{i});
      if (for_results[name]) extend(thread.results, s.start[i], end, SliceId{i});
      extend(thread.present, s.start[i], end, SliceId{i});
    }
  }
  return waits;
}

namespace {

using Phases = std::vector<std::optional<Phase>>;  // by name

// Whether a row shows what its thread does all the time. Annotations around other rows do not,
// except those of data loaders.
bool tells(const Trace& trace, const Phases& phases, const Track& track, std::uint32_t row) {
  const Slices& s = trace.slices;
  const Category c = s.category[row];
  if (c == Category::trace_window || c == Category::gpu_annotation) return false;
  if (c != Category::user_annotation || phases[index(s.name[row])] == Phase::data) return true;
  const std::uint32_t next = row + 1;
  return next == track.first + track.count || s.start[next] >= s.end(SliceId{row});
}

}  // namespace

std::vector<HostSpan> unseen_host(const RankView& view) {
  if (view.steps.empty()) return {};
  const Ns from = view.steps.front().host_start;
  const Ns until = view.steps.back().host_end;
  const Trace& trace = *view.trace;
  const Slices& s = trace.slices;
  const Phases phases = phases_of_names(trace.strings);
  std::vector<HostSpan> seen;
  for (const TrackId id : view.index->host_tracks) {
    const Track& track = trace.track(id);
    std::vector<HostSpan> of_thread;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (s.start[i] < until && s.end(SliceId{i}) > from && tells(trace, phases, track, i))
        extend(of_thread, s.start[i], s.end(SliceId{i}), SliceId{i});
    seen.insert(seen.end(), of_thread.begin(), of_thread.end());
  }
  std::ranges::sort(seen, {}, &HostSpan::start);
  std::vector<HostSpan> unseen;
  if (seen.empty()) return unseen;
  Ns reach = from;
  SliceId last = no_slice;
  const auto stretch = [&](Ns to) {
    if (to - reach >= least_unseen) unseen.push_back({reach, to, last});
  };
  for (const HostSpan& span : seen) {
    if (span.start > reach) stretch(std::min(span.start, until));
    if (span.end <= reach) continue;
    reach = span.end;
    last = span.row;
  }
  stretch(until);
  return unseen;
}

namespace {

// The step in which a stretch lies.
std::size_t step_around(const RankView& view, const HostSpan& stretch) {
  return static_cast<std::size_t>(last_step_of_host(view.steps, stretch.start));
}

// Where the longest stretches lie, if half of `all` lies between the same rows. Finding the rows
// around one reads those of its step.
std::string place_of_most(const RankView& view, std::vector<HostSpan> stretches, Ns all) {
  constexpr std::size_t most_read = 32;
  const auto length = [](const HostSpan& stretch) { return stretch.end - stretch.start; };
  std::ranges::stable_sort(stretches, std::ranges::greater{}, length);
  std::map<std::string, Ns> by_place;
  for (const HostSpan& stretch : stretches | std::views::take(most_read)) {
    if (stretch.row == no_slice) continue;
    const TrackId thread = view.trace->slices.track[index(stretch.row)];
    const Ns since = view.steps[step_around(view, stretch)].host_start;
    by_place[host_activity(*view.trace, thread, since, stretch.start, stretch.end).text] +=
        length(stretch);
  }
  for (const auto& [place, time] : by_place)
    if (place.starts_with("between ") && 2 * time >= all) return place;
  return {};
}

std::optional<UnseenWork> work_of(const RankView& view) {
  std::vector<HostSpan> stretches = unseen_host(view);
  std::vector<bool> has_some(view.steps.size());
  Ns sum{};
  for (const HostSpan& stretch : stretches) {
    has_some[step_around(view, stretch)] = true;
    sum += stretch.end - stretch.start;
  }
  const std::ptrdiff_t with = std::ranges::count(has_some, true);
  if (with == 0 || 4 * with < 3 * std::ssize(view.steps)) return std::nullopt;
  return UnseenWork{.of_step = sum / std::ssize(view.steps),
                    .least = sum / std::ssize(view.steps),
                    .between = place_of_most(view, std::move(stretches), sum),
                    .ranks = {}};
}

}  // namespace

std::optional<UnseenWork> unseen_work(std::span<const RankView> views) {
  std::set<int> ranks;
  std::ptrdiff_t with = 0;
  Ns sum{};
  Ns least = Ns::max();
  std::optional<UnseenWork> most;
  for (const RankView& view : views) {
    std::optional<UnseenWork> work = work_of(view);
    if (!work) continue;
    ranks.insert(view.rank);
    ++with;
    sum += work->of_step;
    least = std::min(least, work->least);
    if (!most || work->of_step > most->of_step) most = std::move(work);
  }
  if (!most || 2 * with < std::ssize(views)) return std::nullopt;
  most->of_step = sum / with;
  most->least = with < std::ssize(views) ? Ns{0} : least;
  if (with < std::ssize(views)) most->ranks = {ranks.begin(), ranks.end()};
  return most;
}

namespace {

struct Rows {
  std::uint32_t first;
  std::uint32_t last;  // one past the end of the track
};

Rows rows_since(const Trace& trace, TrackId thread, Ns since) {
  const Track& track = trace.track(thread);
  const auto begin = trace.slices.start.begin() + track.first;
  const auto at = std::lower_bound(begin, begin + track.count, since);
  return {track.first + static_cast<std::uint32_t>(at - begin), track.first + track.count};
}

bool is_activity(const Trace& trace, std::uint32_t row) {
  return is_host_row(trace.slices.category[row]) &&
         !trace.name(SliceId{row}).starts_with("ProfilerStep");
}

// Rows around one stretch [start, end) of a thread.
struct Surroundings {
  SliceId covering = no_slice;  // the deepest row that fills at least half
  SliceId before = no_slice;    // the last row to end before the longest empty part
  SliceId after = no_slice;     // the first row to start after that part
  Ns empty{};                   // length of that part
  std::uint32_t inside = 0;     // rows that start inside without covering
};

// True if a row fills at least half of a stretch.
bool fills(const Slices& s, std::uint32_t row, Ns start, Ns end) {
  const Ns shared = std::min(end, s.start[row] + s.dur[row]) - std::max(start, s.start[row]);
  return 2 * shared >= end - start;
}

Surroundings survey(const Trace& trace, Rows rows, Ns start, Ns end) {
  const Slices& s = trace.slices;
  Surroundings around;
  Ns reach = start;         // end of the time covered by the rows seen so far
  SliceId last = no_slice;  // the row among them that ends last
  const auto close = [&](Ns until, SliceId next) {
    if (until - reach <= around.empty) return;
    around.empty = until - reach;
    around.before = last;
    around.after = next;
  };
  std::uint32_t i = rows.first;
  for (; i < rows.last && s.start[i] < end; ++i) {
    const Ns row_end = s.start[i] + s.dur[i];
    // Nearly all rows before the stretch: they are over and did not end last.
    if (row_end <= start && last != no_slice && row_end <= s.end(last)) continue;
    if (!is_activity(trace, i)) continue;
    if (fills(s, i, start, end)) {
      around.covering = SliceId{i};  // rows come outermost first
      continue;
    }
    if (s.start[i] > reach) close(s.start[i], SliceId{i});
    if (last == no_slice || row_end > s.end(last)) last = SliceId{i};
    reach = std::max(reach, row_end);
    if (s.start[i] >= start) ++around.inside;
  }
  while (i < rows.last && !is_activity(trace, i)) ++i;
  if (reach < end) close(end, i < rows.last ? SliceId{i} : no_slice);
  return around;
}

std::string between(const Trace& trace, const Surroundings& around) {
  const auto named = [&](SliceId row) { return std::string(without_engine(trace.name(row))); };
  if (around.before == no_slice && around.after == no_slice) return "";
  if (around.before == no_slice) return "before " + named(around.after);
  if (around.after == no_slice) return "after " + named(around.before);
  return "between " + named(around.before) + " and " + named(around.after);
}

constexpr Ns long_call = std::chrono::milliseconds{1};

// A long call that is the first of its name on a thread: it loads code or sets up the device.
bool is_first_call(const Trace& trace, SliceId row) {
  const Slices& s = trace.slices;
  if (!is_call(s.category[index(row)]) || s.dur[index(row)] < long_call) return false;
  std::uint32_t i = trace.track(s.track[index(row)]).first;
  while (s.name[i] != s.name[index(row)]) ++i;
  return SliceId{i} == row;
}

bool says_it_all(Category c) { return c == Category::cpu_op || is_call(c); }

}  // namespace

HostActivity host_activity(const Trace& trace, TrackId thread, Ns since, Ns start, Ns end) {
  const Rows rows = rows_since(trace, thread, std::min(since, start));
  const Surroundings around = survey(trace, rows, start, end);
  HostActivity activity;
  activity.covering = around.covering;
  const bool covered = around.covering != no_slice;
  const std::string name(covered ? without_engine(trace.name(around.covering))
                                 : std::string_view());
  if (covered && says_it_all(trace.slices.category[index(around.covering)])) {
    activity.text = name;
    if (is_first_call(trace, around.covering)) activity.text += first_call;
    return activity;
  }
  if (2 * around.empty >= end - start)
    activity.text = between(trace, around);
  else if (around.inside > 0)
    activity.text = std::to_string(around.inside) + " short operators and calls";
  if (activity.text.empty())
    activity.text = covered ? name : "no row recorded";
  else if (covered)
    activity.text += " in " + name;
  return activity;
}

SliceId operator_around(const Trace& trace, TrackId thread, Ns since, Ns at) {
  const Slices& s = trace.slices;
  const Rows rows = rows_since(trace, thread, std::min(since, at));
  for (std::uint32_t i = rows.first; i < rows.last && s.start[i] <= at; ++i) {
    const bool around = s.category[i] == Category::cpu_op && s.start[i] + s.dur[i] > at;
    if (around && is_activity(trace, i)) return SliceId{i};
  }
  return no_slice;
}

namespace {

EventWaits::StreamKey stream_of(const Trace& trace, SliceId op) {
  const Track& track = trace.track(trace.slices.track[index(op)]);
  return {track.device_index, track.tid};
}

// The start of runtime and driver calls by correlation, for the rows that name one.
std::unordered_map<std::uint32_t, Ns> call_times(const Trace& trace) {
  std::unordered_map<std::uint32_t, Ns> times;
  const Slices& s = trace.slices;
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (is_call(s.category[i]) && s.correlation[i] != 0)
      times.try_emplace(s.correlation[i], s.start[i]);
  }
  return times;
}

void collect_waits(const Trace& trace, EventWaits& events) {
  const Slices& s = trace.slices;
  std::unordered_map<std::uint32_t, Ns> calls;
  const auto time_of = [&](std::uint32_t correlation, Ns otherwise) {
    const auto at = calls.find(correlation);
    return at == calls.end() ? otherwise : at->second;
  };
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::sync || s.detail[i] == no_row) continue;
    if (trace.name(SliceId{i}) != "Stream Wait Event") continue;
    const std::uint32_t row = s.detail[i];
    if (trace.syncs.wait_on_stream[row] < 0) continue;
    if (calls.empty()) calls = call_times(trace);
    EventWaits::StreamKey waiting = stream_of(trace, SliceId{i});
    if (trace.syncs.stream[row] >= 0) waiting.second = trace.syncs.stream[row];
    const EventWaits::StreamKey on = {waiting.first, trace.syncs.wait_on_stream[row]};
    if (on == waiting) continue;
    const Ns called = time_of(s.correlation[i], s.start[i]);
    const std::int32_t record = trace.syncs.wait_on_record_correlation[row];
    // An event is recorded before it is waited for.
    const Ns recorded = record > 0 ? time_of(static_cast<std::uint32_t>(record), called) : called;
    events.waits[waiting].push_back({called, on, recorded});
  }
  for (auto& [stream, waits] : events.waits)
    std::ranges::sort(waits, {}, &EventWaits::Wait::called);
}

void collect_streams(const Trace& trace, const RankIndex& rank, EventWaits& events) {
  for (const SliceId op : rank.operations())
    if (const SliceId call = rank.launch(op); call != no_slice)
      events.streams[stream_of(trace, op)].push_back({trace.slices.start[index(call)], op});
  for (auto& [stream, ops] : events.streams)
    std::ranges::stable_sort(ops, {}, &EventWaits::Launched::launched);
}

// The last operation launched on a stream no later than `until`.
SliceId last_launched(const EventWaits& events, const EventWaits::StreamKey& stream, Ns until) {
  const auto ops = events.streams.find(stream);
  if (ops == events.streams.end()) return no_slice;
  const auto after =
      std::ranges::upper_bound(ops->second, until, {}, &EventWaits::Launched::launched);
  return after == ops->second.begin() ? no_slice : (after - 1)->op;
}

}  // namespace

EventWaits event_waits(const Trace& trace, const RankIndex& rank) {
  EventWaits events;
  if (trace.syncs.size() > 0) collect_waits(trace, events);
  if (!events.waits.empty()) collect_streams(trace, rank, events);
  return events;
}

SliceId producer_of(const EventWaits& events, const Trace& trace, const RankIndex& rank,
                    SliceId op) {
  const EventWaits::StreamKey stream = stream_of(trace, op);
  const auto waits = events.waits.find(stream);
  const SliceId call = rank.launch(op);
  if (waits == events.waits.end() || call == no_slice) return no_slice;
  const Ns launched = trace.slices.start[index(call)];
  Ns predecessor = Ns::min();
  if (const SliceId before = last_launched(events, stream, launched - Ns{1}); before != no_slice)
    predecessor = trace.slices.start[index(rank.launch(before))];
  auto wait = std::ranges::upper_bound(waits->second, launched, {}, &EventWaits::Wait::called);
  SliceId latest = no_slice;
  while (wait != waits->second.begin() && (--wait)->called > predecessor) {
    const SliceId producer = last_launched(events, wait->on, wait->recorded);
    if (producer == no_slice) continue;
    if (latest == no_slice || trace.slices.end(producer) > trace.slices.end(latest))
      latest = producer;
  }
  return latest;
}

namespace {

bool is_stream_wait(std::string_view name) {
  return name == "cudaStreamWaitEvent" || name == "hipStreamWaitEvent" ||
         name == "cuStreamWaitEvent";
}

// An operator that launches communication.
bool is_communication_operator(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("nccl:") || name.starts_with("rccl:") ||
         name == "record_param_comms" ||
         (name.starts_with("_c10d_functional::") && !name.ends_with("wait_tensor"));
}

struct HostStep {
  Ns at{};
  SliceId op = no_slice;  // launched; no_slice: the call makes a stream wait
};

enum class CallName : std::uint8_t { other, wait, communication };

CallName call_name(std::string_view name) {
  if (is_stream_wait(name)) return CallName::wait;
  return is_communication_operator(name) ? CallName::communication : CallName::other;
}

}  // namespace

std::vector<CalledWait> called_waits(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::vector<HostStep> host;
  const std::vector<CallName> names = by_name(trace.strings, call_name);
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    Ns inside = Ns::min();  // an operator that launches communication
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const CallName name = names[index(s.name[i])];
      if (name == CallName::communication) inside = std::max(inside, s.start[i] + s.dur[i]);
      if (name == CallName::wait && s.start[i] >= inside) host.push_back({s.start[i], no_slice});
    }
  }
  if (host.empty()) return {};
  for (const SliceId op : rank.operations())
    if (const SliceId call = rank.launch(op); call != no_slice)
      host.push_back({s.start[index(call)], op});
  std::ranges::stable_sort(host, {}, &HostStep::at);
  std::vector<CalledWait> waits;
  std::vector<SliceId> awaited;
  SliceId last = no_slice;  // the last launch, if it is communication
  for (const HostStep& step : host) {
    if (step.op == no_slice) {
      if (last != no_slice && (awaited.empty() || awaited.back() != last)) awaited.push_back(last);
    } else if (trace.is_communication(step.op)) {
      last = step.op;
    } else {
      last = no_slice;
      if (s.category[index(step.op)] != Category::kernel) continue;
      for (const SliceId communication : awaited) waits.push_back({communication, step.op});
      awaited.clear();
    }
  }
  return waits;
}

}  // namespace stepscope

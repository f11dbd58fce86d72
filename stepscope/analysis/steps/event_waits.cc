// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/event_waits.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace stepscope {
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
    const bool call = s.category[i] == Category::runtime || s.category[i] == Category::driver;
    if (call && s.correlation[i] != 0) times.try_emplace(s.correlation[i], s.start[i]);
  }
  return times;
}

std::optional<Ns> time_of(const std::unordered_map<std::uint32_t, Ns>& times,
                          std::uint32_t correlation) {
  const auto at = times.find(correlation);
  return at == times.end() ? std::nullopt : std::optional(at->second);
}

void collect_waits(const Trace& trace, EventWaits& events) {
  const Slices& s = trace.slices;
  std::unordered_map<std::uint32_t, Ns> calls;
  for (std::uint32_t i = 0; i < s.size(); ++i) {
    if (s.category[i] != Category::sync || s.detail[i] == no_row) continue;
    if (trace.name(SliceId{i}) != "Stream Wait Event") continue;
    const std::uint32_t row = s.detail[i];
    if (trace.syncs.wait_on_stream[row] < 0) continue;
    if (calls.empty()) calls = call_times(trace);
    EventWaits::StreamKey waiting = stream_of(trace, SliceId{i});
    if (trace.syncs.stream[row] >= 0) waiting.second = trace.syncs.stream[row];
    EventWaits::Wait wait;
    wait.called = time_of(calls, s.correlation[i]).value_or(s.start[i]);
    wait.on = {waiting.first, trace.syncs.wait_on_stream[row]};
    const std::int32_t record = trace.syncs.wait_on_record_correlation[row];
    wait.recorded = wait.called;  // an event is recorded before it is waited for
    if (record > 0)
      wait.recorded = time_of(calls, static_cast<std::uint32_t>(record)).value_or(wait.called);
    if (wait.on != waiting) events.waits[waiting].push_back(wait);
  }
  for (auto& [stream, waits] : events.waits)
    std::sort(waits.begin(), waits.end(),
              [](const auto& a, const auto& b) { return a.called < b.called; });
}

void collect_streams(const Trace& trace, const RankIndex& rank, EventWaits& events) {
  for (const DeviceLane& lane : rank.devices) {
    for (const SliceId op : lane.ops) {
      const SliceId call = rank.launch(op);
      if (call == no_slice) continue;
      events.streams[stream_of(trace, op)].push_back({trace.slices.start[index(call)], op});
    }
  }
  for (auto& [stream, ops] : events.streams)
    std::stable_sort(ops.begin(), ops.end(),
                     [](const auto& a, const auto& b) { return a.launched < b.launched; });
}

// The last operation launched on a stream no later than `until`.
SliceId last_launched(const EventWaits& events, const EventWaits::StreamKey& stream, Ns until) {
  const auto ops = events.streams.find(stream);
  if (ops == events.streams.end()) return no_slice;
  const auto after = std::upper_bound(ops->second.begin(), ops->second.end(), until,
                                      [](Ns t, const auto& op) { return t < op.launched; });
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
  auto wait = std::upper_bound(waits->second.begin(), waits->second.end(), launched,
                               [](Ns t, const auto& w) { return t < w.called; });
  SliceId latest = no_slice;
  while (wait != waits->second.begin() && (--wait)->called > predecessor) {
    const SliceId producer = last_launched(events, wait->on, wait->recorded);
    if (producer == no_slice) continue;
    if (latest == no_slice || trace.slices.end(producer) > trace.slices.end(latest))
      latest = producer;
  }
  return latest;
}

}  // namespace stepscope

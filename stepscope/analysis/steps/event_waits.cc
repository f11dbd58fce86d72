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

enum class CallName : std::uint8_t { unknown, wait, communication, other };

}  // namespace

std::vector<CalledWait> called_waits(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::vector<HostStep> host;
  std::vector<CallName> kind(trace.strings.size(), CallName::unknown);
  const auto kind_of = [&](std::uint32_t row) {
    CallName& known = kind[index(s.name[row])];
    if (known == CallName::unknown) {
      const std::string_view name = trace.strings[s.name[row]];
      known = is_stream_wait(name)              ? CallName::wait
              : is_communication_operator(name) ? CallName::communication
                                                : CallName::other;
    }
    return known;
  };
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    Ns inside = Ns::min();  // an operator that launches communication
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const CallName name = kind_of(i);
      if (name == CallName::communication) inside = std::max(inside, s.start[i] + s.dur[i]);
      if (name == CallName::wait && s.start[i] >= inside) host.push_back({s.start[i], no_slice});
    }
  }
  if (host.empty()) return {};
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops)
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

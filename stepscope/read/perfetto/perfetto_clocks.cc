// SPDX-License-Identifier: Apache-2.0
// Sums wrap as two's complement. The caller rejects instants out of range.
#include "stepscope/read/perfetto/perfetto_clocks.h"

#include <algorithm>

#include "stepscope/base/proto_wire.h"

namespace stepscope {
namespace {

constexpr std::uint32_t realtime = 1;
constexpr std::uint32_t first_own = 64;  // clocks of a sequence begin here
constexpr std::uint32_t last_own = 127;
constexpr std::size_t most_clocks = 1 << 16;  // over all sequences

}  // namespace

PerfettoClocks::Key PerfettoClocks::key_of(std::uint32_t clock, std::uint32_t sequence) {
  const bool own = clock >= first_own && clock <= last_own;
  return (own ? std::uint64_t{sequence} << 32 : 0) | clock;
}

std::optional<PerfettoClocks::Reading> PerfettoClocks::read_clock(std::string_view message,
                                                                  std::uint32_t sequence) {
  std::uint32_t id = 0;
  std::uint64_t time = 0;
  std::uint64_t unit = 1;
  bool incremental = false;
  take_fields(message, ProtoInto(1, id), ProtoInto(2, time), ProtoInto(3, incremental),
              ProtoInto(4, unit));
  const Key key = key_of(id, sequence);
  if (clocks_.size() >= most_clocks && !clocks_.contains(key)) return std::nullopt;
  ClockState& state = clocks_[key];
  state.unit_ns = unit == 0 ? 1 : unit;
  state.incremental = incremental;
  state.last = time * state.unit_ns;
  return Reading{key, state.last};
}

// Uses the last point at or before `time`, or the first point.
std::optional<std::uint64_t> PerfettoClocks::convert(const ClockState& clock, std::uint64_t time) {
  if (clock.points.empty()) return std::nullopt;
  auto at = std::ranges::upper_bound(clock.points, time, {}, &Point::clock);
  if (at != clock.points.begin()) --at;
  return time - at->clock + at->trace;
}

// The instant of a snapshot: from the trace's clock if the snapshot has it, else from a clock that
// an earlier snapshot joined to it.
std::optional<std::uint64_t> PerfettoClocks::in_trace_time(
    const std::vector<Reading>& readings) const {
  for (const Reading& r : readings)
    if (r.key == trace_clock_) return r.time;
  for (const Reading& r : readings)
    if (const auto t = convert(clocks_.at(r.key), r.time)) return t;
  return std::nullopt;
}

void PerfettoClocks::snapshot(std::string_view message, std::uint32_t sequence) {
  std::vector<Reading> readings;
  for (ProtoFields f(message); f.next();) {
    if (f.field() == 1)
      if (const auto reading = read_clock(f.bytes(), sequence)) readings.push_back(*reading);
    if (f.field() == 2 && !any_snapshot_ && f.number() != 0)
      trace_clock_ = static_cast<std::uint32_t>(f.number());
  }
  if (readings.empty()) return;
  const auto now = in_trace_time(readings);
  if (!now) return;
  any_snapshot_ = true;
  for (const Reading& r : readings) {
    if (r.key == realtime && !to_unix_) to_unix_ = static_cast<std::int64_t>(r.time - *now);
    std::vector<Point>& points = clocks_[r.key].points;
    // A clock that was set back starts a new list of points.
    while (!points.empty() && points.back().clock >= r.time) points.pop_back();
    points.push_back({r.time, *now});
  }
}

std::optional<std::int64_t> PerfettoClocks::trace_time(std::uint64_t time, std::uint32_t clock,
                                                       std::uint32_t sequence) {
  const Key key = key_of(clock, sequence);
  if (key == trace_clock_) {
    in_use_ = key;
    return static_cast<std::int64_t>(time);
  }
  const auto at = clocks_.find(key);
  if (at != clocks_.end()) {
    ClockState& state = at->second;
    time *= state.unit_ns;
    if (state.incremental) time = state.last += time;
    if (const auto t = convert(state, time)) return static_cast<std::int64_t>(*t);
  }
  // In a trace without snapshots, the only clock that its packets name is the trace's.
  if (any_snapshot_ || key >= first_own || in_use_) return std::nullopt;
  in_use_ = key;
  trace_clock_ = clock;
  return static_cast<std::int64_t>(time);
}

}  // namespace stepscope

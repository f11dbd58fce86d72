// SPDX-License-Identifier: Apache-2.0
// The clocks of a Perfetto trace: packets are stamped by one of several, and clock snapshots say
// what two of them showed at once (protos/perfetto/trace/clock_snapshot.proto). All instants are
// brought to the trace's clock, and at the end to the UNIX epoch by the first snapshot that has
// both: one offset, so that durations stay as recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepscope {

class PerfettoClocks {
 public:
  void snapshot(std::string_view message, std::uint32_t sequence);
  // The instant on the trace's clock, or nullopt for a clock that no snapshot has joined to it.
  // Clocks 64 to 127 are their sequence's own; incremental ones move on by each call.
  [[nodiscard]] std::optional<std::int64_t> trace_time(std::uint64_t time, std::uint32_t clock,
                                                       std::uint32_t sequence);
  // The clock of packets that name none.
  static constexpr std::uint32_t default_clock = 6;  // BOOTTIME
  // What to add to give time since the UNIX epoch; nullopt where no snapshot says.
  [[nodiscard]] std::optional<std::int64_t> to_unix() const { return to_unix_; }

 private:
  using Key = std::uint64_t;
  struct Point {
    std::uint64_t clock = 0;  // what this clock showed …
    std::uint64_t trace = 0;  // … when the trace's showed this
  };
  struct ClockState {
    std::vector<Point> points{};
    std::uint64_t unit_ns = 1;
    bool incremental = false;
    std::uint64_t last = 0;  // of an incremental clock
  };
  struct Reading {
    Key key = 0;
    std::uint64_t time = 0;
  };

  static Key key_of(std::uint32_t clock, std::uint32_t sequence);
  std::optional<Reading> read_clock(std::string_view message, std::uint32_t sequence);
  static std::optional<std::uint64_t> convert(const ClockState& clock, std::uint64_t time);
  std::optional<std::uint64_t> in_trace_time(const std::vector<Reading>& readings) const;

  std::unordered_map<Key, ClockState> clocks_;
  std::uint32_t trace_clock_ = default_clock;
  bool any_snapshot_ = false;
  std::optional<Key> in_use_;  // of packets so far, while no snapshot joins any
  std::optional<std::int64_t> to_unix_;
};

}  // namespace stepscope

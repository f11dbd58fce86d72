// SPDX-License-Identifier: Apache-2.0
// The clocks of a Perfetto trace. Packets are stamped by one of several clocks, and clock snapshots
// hold simultaneous readings of two (protos/perfetto/trace/clock_snapshot.proto). All instants are
// converted to the trace's clock. At the end the first snapshot with both clocks converts them to
// the UNIX epoch; it is one offset, so durations do not change.
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
  // The instant on the trace's clock; nullopt for a clock that no snapshot joins to it. Clocks 64
  // to 127 belong to their sequence; incremental ones advance with each call.
  [[nodiscard]] std::optional<std::int64_t> trace_time(std::uint64_t time, std::uint32_t clock,
                                                       std::uint32_t sequence);
  // The clock of packets that do not name one.
  static constexpr std::uint32_t default_clock = 6;  // BOOTTIME
  // The offset to time since the UNIX epoch; nullopt if no snapshot gives it.
  [[nodiscard]] std::optional<std::int64_t> to_unix() const { return to_unix_; }

 private:
  using Key = std::uint64_t;
  struct Point {
    std::uint64_t clock = 0;  // reading of this clock …
    std::uint64_t trace = 0;  // … at this instant of the trace's clock
  };
  struct ClockState {
    std::vector<Point> points{};
    std::uint64_t unit_ns = 1;
    bool incremental = false;
    std::uint64_t last = 0;  // last value of an incremental clock
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
  std::optional<Key> in_use_;  // clock of the packets so far, until a snapshot joins any
  std::optional<std::int64_t> to_unix_;
};

}  // namespace stepscope

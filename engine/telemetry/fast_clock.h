// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC at a cost of a few ns per reading. It reads the CPU's time-stamp counter if that
// is invariant (same rate in all power states, CPUID 0x80000007). The counter's rate is measured
// against CLOCK_MONOTONIC, and discipline() corrects it. Otherwise it is clock_gettime itself.
#pragma once

#include <cstdint>

#include "stepscope/base/quantity.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stepscope {

[[nodiscard]] Ns host_now();
[[nodiscard]] bool has_invariant_tsc();

enum class ClockSource : std::uint8_t { automatic, monotonic };

// The rate in ns per tick, near the true `rate`, at which a clock that is `ahead` is correct after
// `period` (at least a second). It stays within 0.05 % of the true rate.
[[nodiscard]] double steered_rate(double rate, double ahead_ns, Ns period);

// For one thread. A copy continues independently.
class FastClock {
 public:
  // With the counter, the first clock of a process takes 2 ms to measure the rate.
  explicit FastClock(ClockSource source = ClockSource::automatic);

  [[nodiscard]] Ns now() const {
#if defined(__x86_64__)
    if (uses_counter_) [[likely]] {
      // Signed: the counter of another core may be a few ticks behind.
      const auto ticks = static_cast<std::int64_t>(__rdtsc() - base_ticks_);
      return base_ + Ns{static_cast<std::int64_t>((Wide{ticks} * multiplier_) >> shift)};
    }
#endif
    return host_now();
  }
  // Compares with CLOCK_MONOTONIC and steers the rate so that the difference is gone at the next
  // call, but not before a second has passed. Time never jumps or runs backwards. It costs two
  // clock readings: call it once a step. False: the readings were interrupted, and nothing was
  // compared.
  bool discipline();
  [[nodiscard]] bool uses_counter() const { return uses_counter_; }

 private:
  __extension__ using Wide = __int128;
  static constexpr int shift = 40;
  struct Pair {
    std::uint64_t ticks = 0;
    Ns time{};
    std::uint64_t width = 0;  // duration of the reading in ticks
  };
  static Pair read_once();
  static Pair read_pair();
  void set_rate(double ns_per_tick);

  bool uses_counter_ = false;
  std::uint64_t base_ticks_ = 0;
  Ns base_{};
  std::int64_t multiplier_ = 0;  // ns per tick × 2^shift
  double rate_ = 0;              // measured ns per tick
  Pair older_;                   // start of the rate measurement …
  Pair newer_;                   // … and its next start, once it is old enough
};

}  // namespace stepscope

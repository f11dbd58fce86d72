// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC for a few ns a reading: the CPU's time-stamp counter where it is invariant (same
// rate in all power states, CPUID 0x80000007), converted by a rate that is measured against
// CLOCK_MONOTONIC and kept to it by discipline(). Elsewhere clock_gettime itself.
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

// The rate, in ns a tick like the true one, at which a clock that is `ahead` is right again after
// `period`, or after a second if that is longer. Within 0.05 % of the true rate.
[[nodiscard]] double steered_rate(double rate, double ahead_ns, Ns period);

// One thread. A copy goes on by itself.
class FastClock {
 public:
  // With the counter, the first clock of a process takes 2 ms to measure its rate.
  explicit FastClock(ClockSource source = ClockSource::automatic);

  [[nodiscard]] Ns now() const {
#if defined(__x86_64__)
    if (uses_counter_) [[likely]] {
      // Signed: another core may read a counter a few ticks behind.
      const auto ticks = static_cast<std::int64_t>(__rdtsc() - base_ticks_);
      return base_ + Ns{static_cast<std::int64_t>((Wide{ticks} * multiplier_) >> shift)};
    }
#endif
    return host_now();
  }
  // Compares with CLOCK_MONOTONIC and steers the rate so that a difference is gone when the next
  // call comes, but not before a second has passed; time never jumps or runs backwards. Costs two
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
    std::uint64_t width = 0;  // ticks that the reading took
  };
  static Pair read_once();
  static Pair read_pair();
  void set_rate(double ns_per_tick);

  bool uses_counter_ = false;
  std::uint64_t base_ticks_ = 0;
  Ns base_{};
  std::int64_t multiplier_ = 0;  // ns per tick × 2^shift
  double rate_ = 0;              // measured ns per tick
  Pair older_;                   // the rate is measured from here …
  Pair newer_;                   // … which becomes the start when it is old enough
};

}  // namespace stepscope

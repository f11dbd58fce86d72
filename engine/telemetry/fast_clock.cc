// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/fast_clock.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stepscope {
namespace {

using namespace std::chrono_literals;

constexpr Ns first_baseline = 2ms;
constexpr Ns least_baseline = 1ms;  // the error of a shorter one is larger than its information
constexpr Ns renewed_after = 16s;   // NTP also steers the rate of CLOCK_MONOTONIC
constexpr Ns least_period = 1s;     // least time to correct a difference
constexpr double most_steering = 5e-4;
constexpr double longest_reading_ns = 1000;  // a longer reading was interrupted

std::uint64_t counter() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

}  // namespace

Ns host_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Ns{static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec};
}

bool has_invariant_tsc() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

double steered_rate(double rate, double ahead_ns, Ns period) {
  const auto over = static_cast<double>(std::max(period, least_period).count());
  return rate * (1 - std::clamp(ahead_ns / over, -most_steering, most_steering));
}

FastClock::Pair FastClock::read_once() {
  const std::uint64_t before = counter();
  const Ns time = host_now();
  const std::uint64_t after = counter();
  return {.ticks = before + (after - before) / 2, .time = time, .width = after - before};
}

// The tightest of several readings. An interruption between counter and clock spoils a reading.
FastClock::Pair FastClock::read_pair() {
  Pair best = read_once();
  for (int i = 1; i < 8; ++i) {
    const Pair pair = read_once();
    if (pair.width < best.width) best = pair;
  }
  return best;
}

FastClock::FastClock(ClockSource source) {
  uses_counter_ = source == ClockSource::automatic && has_invariant_tsc();
  if (!uses_counter_) return;
  static const double process_rate = [] {
    const Pair start = read_pair();
    while (host_now() - start.time < first_baseline) {
    }
    const Pair end = read_pair();
    return static_cast<double>((end.time - start.time).count()) /
           static_cast<double>(end.ticks - start.ticks);
  }();
  older_ = newer_ = read_pair();
  base_ticks_ = older_.ticks;
  base_ = older_.time;
  rate_ = process_rate;
  set_rate(rate_);
}

void FastClock::set_rate(double ns_per_tick) {
  multiplier_ = std::llround(std::ldexp(ns_per_tick, shift));
}

bool FastClock::discipline() {
  if (!uses_counter_) return true;
  const auto interrupted = [this](const Pair& pair) {
    return static_cast<double>(pair.width) * rate_ > longest_reading_ns;
  };
  // After a long step the clock's code is not in a cache and a reading takes some µs, so a second
  // is made.
  Pair pair = read_once();
  if (interrupted(pair)) pair = read_once();
  if (interrupted(pair)) return false;
  const Ns time = pair.time;
  const std::uint64_t ticks = pair.ticks;
  if (time - older_.time > least_baseline)
    rate_ = static_cast<double>((time - older_.time).count()) /
            static_cast<double>(ticks - older_.ticks);
  if (time - newer_.time > renewed_after) {
    older_ = newer_;
    newer_ = pair;
  }
  const std::uint64_t here = counter();
  const auto passed = static_cast<std::int64_t>(here - base_ticks_);
  const Ns period{static_cast<std::int64_t>((Wide{passed} * multiplier_) >> shift)};
  base_ += period;
  base_ticks_ = here;
  const double here_truth =
      static_cast<double>(time.count()) + static_cast<double>(here - ticks) * rate_;
  set_rate(steered_rate(rate_, static_cast<double>(base_.count()) - here_truth, period));
  return true;
}

}  // namespace stepscope

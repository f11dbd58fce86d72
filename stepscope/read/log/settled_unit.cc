// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/settled_unit.h"

namespace stepscope {
namespace {

TimeFit fit_of(const TimesByInstants& times, TimeUnit unit) {
  const double ns = ns_per(unit);
  const auto fits = [&](double sum) {
    const double ratio = times.between_ns / (sum * ns);
    return ratio > 0.67 && ratio < 2;
  };
  if (fits(times.of_steps)) return TimeFit::of_step;
  if (fits(times.of_intervals)) return TimeFit::of_interval;
  return times.between_ns < 0.5 * times.of_steps * ns ? TimeFit::too_long : TimeFit::unknown;
}

}  // namespace

void TimesByInstants::add(Ns before, Ns now, double steps, double time) {
  if (!(steps > 0) || !(time > 0) || now < before) return;
  fractions = fractions || now.count() % 1'000'000'000 != 0;
  between_ns += static_cast<double>((now - before).count());
  of_steps += steps * time;
  of_intervals += time;
  ++pairs;
}

SettledUnit settled_unit(const TimesByInstants& times, std::optional<TimeUnit> known,
                         TimeUnit usual) {
  constexpr std::size_t least_pairs = 2;
  const double least_ns = times.fractions ? 5e7 : 5e9;  // else rounding counts
  if (times.pairs < least_pairs || times.between_ns < least_ns) return {.unit = known};
  if (known) return {.fit = fit_of(times, *known), .unit = known};
  SettledUnit settled{.fit = fit_of(times, usual)};
  bool of_interval = false;  // ms of a step are s of 1,000 steps
  for (const TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
    const TimeFit fit = fit_of(times, unit);
    if (fit == TimeFit::of_step && !settled.unit) settled = {.fit = fit, .unit = unit};
    of_interval = of_interval || fit == TimeFit::of_interval;
  }
  if (of_interval) settled.fit = TimeFit::of_interval;
  return settled;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// A recent mean of a rate: sum of numerators over sum of denominators. Both decay with the time
// constant tau. Unlike a mean of rates, it weighs a sample by its duration.
#pragma once

#include <cmath>
#include <optional>

namespace stepscope {

struct DecayedRatio {
  double tau = 1;          // seconds, > 0
  double numerator = 0;    // as of `at`
  double denominator = 0;  // as of `at`
  double at = 0;           // seconds on the caller's clock

  // The ratio decayed to `now`, which must not be before `at`.
  [[nodiscard]] DecayedRatio decayed_to(double now) const {
    const double factor = std::exp(-(now - at) / tau);
    return {.tau = tau,
            .numerator = numerator * factor,
            .denominator = denominator * factor,
            .at = now};
  }
  void add(double now, double numerator_added, double denominator_added) {
    *this = decayed_to(now);
    numerator += numerator_added;
    denominator += denominator_added;
  }
  // Absent before the first sample.
  [[nodiscard]] std::optional<double> value() const {
    return denominator > 0 ? std::optional(numerator / denominator) : std::nullopt;
  }
};

// Joins an earlier and a later stretch of one source. The earlier one decays to the later's
// instant.
[[nodiscard]] inline DecayedRatio concat(const DecayedRatio& earlier, const DecayedRatio& later) {
  DecayedRatio both = earlier.decayed_to(later.at);
  both.numerator += later.numerator;
  both.denominator += later.denominator;
  return both;
}

// Joins parallel sources over the same time, whose denominators are wall time: numerators add, wall
// time does not.
[[nodiscard]] inline DecayedRatio gather(const DecayedRatio& a, const DecayedRatio& b) {
  const double now = std::fmax(a.at, b.at);
  DecayedRatio both = a.decayed_to(now);
  const DecayedRatio other = b.decayed_to(now);
  both.numerator += other.numerator;
  both.denominator = std::fmax(both.denominator, other.denominator);
  return both;
}

}  // namespace stepscope

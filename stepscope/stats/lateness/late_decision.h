// SPDX-License-Identifier: Apache-2.0
// The decision who is late. All parts of stepscope take it from here: a member of a group is late
// if its usual excess over its peers is
// - sure: more than some times its standard error;
// - steady: three of four rounds have the excess;
// - large, where the question is about ranks: 3 % of a step and 1 ms (LateLimits).
// Two tests use it. They differ in what they know of the error.
// - A batch of steps (excess.h): the usual excess is the median. Its error is from the spread of
//   the steps and their number. A step has the excess with three tenths of the usual one.
// - A stream of rounds (late_rule.h): the usual excess is the median of the last 8. Its error is
//   the spread of such medians, of the members now or in their past. A round has the excess
//   if it is large.
// The simulated jobs that set the bounds are in excess_test.cc (of series of noise, one of a
// hundred stands out) and late_rule_test.cc (nobody is named in clean jobs of 10,000 steps; a slow
// rank is named within ten steps in 98 % of the jobs).
#pragma once

#include <algorithm>
#include <cstddef>

namespace stepscope {

// Smaller lateness is variation from rank to rank that is not worth a name.
struct LateLimits {
  double least_share = 0.03;  // of a step
  double least_late = 1e6;    // ns a step

  // ns; `step_ns` 0: unknown.
  [[nodiscard]] double least(double step_ns) const {
    return std::max(least_late, least_share * step_ns);
  }
};

// Standard errors that are needed: of one question, and of one that is asked again and again.
inline constexpr double sure_once = 3;
inline constexpr double sure_again = 7;

struct LateEvidence {
  double usual = 0;             // excess
  double noise = 0;             // its standard error, times what is needed
  std::size_t late_rounds = 0;  // have the excess
  std::size_t rounds = 0;
};

// Three of four, to the nearest: 2 of 3, 6 of 8.
constexpr std::size_t steady_rounds(std::size_t rounds) { return rounds - (rounds + 1) / 4; }

constexpr bool is_late(const LateEvidence& e) {
  return e.usual > e.noise && e.late_rounds >= steady_rounds(e.rounds);
}

}  // namespace stepscope

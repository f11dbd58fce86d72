// SPDX-License-Identifier: Apache-2.0
// The test of a stream of rounds: names the members of a group that are late step after step, while
// the job runs (late_decision.h).
//
// Input: for each round (a step, or some collectives of the group) how late each member was, behind
// the median of its peers. From collectives this needs no clocks: all members leave a collective
// together, so a member that came late was in it for a shorter time (live/job_state.h).
//
// A member is late in a round if it is late by LateLimits. It is named if this holds in 6 of its
// last 8 rounds, and if the median of these rounds is far beyond what is usual for such medians.
// Medians of 8 rounds are compared with medians of 8 rounds, so jitter that lasts for several
// rounds counts as usual. Usual is the larger of two values, and a median must exceed sure_again
// times that:
// - The spread of such medians (1.4826 x the median absolute deviation), in the first rounds up to
//   twice that. In a group of five or more it is the larger of two: that of the members now, and
//   its mean over the last 200 rounds or so, without the named members. A smaller group has only
//   its past: each median is compared with the middle of the member's in the last 200 rounds.
// - Half of the change of a member from one round to the next: the median of the members and of 64
//   rounds.
// Before a past of 16 such medians (24 rounds; 72 of a small group, which remembers every fourth)
// nobody is named if the time of the step is unknown, and in a small group 8 rounds of 8 have to be
// late.
// A named member is cleared when at most 2 of its last 8 rounds are late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/stats/lateness/late_decision.h"

namespace stepscope {

inline constexpr std::size_t late_window = 8;  // rounds

class LateRule {
 public:
  explicit LateRule(std::size_t members, const LateLimits& limits = {});

  // A round: lateness by member in ns, NaN if unknown; `step_ns`: the time of the round, 0 if
  // unknown (then least_late alone counts). REQUIRES: one value per member.
  void add(std::span<const float> late, double step_ns);

  [[nodiscard]] std::size_t members() const { return named_.size(); }
  [[nodiscard]] bool named(std::size_t member) const { return named_[member] != 0; }
  // Mean of the late rounds among the last, in ns; without any, the median of all; 0 before
  // late_window rounds.
  [[nodiscard]] double lateness(std::size_t member) const {
    return hits_[member] > 0 ? late_means_[member] : means_[member];
  }
  [[nodiscard]] double step_ns() const { return step_ns_; }
  // Rounds from the first late one of the last late_window to now; 0: no round is late.
  [[nodiscard]] std::size_t rounds_late(std::size_t member) const;
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  [[nodiscard]] float value(std::uint64_t round, std::size_t member) const {
    return recent_[round % late_window * members() + member];
  }
  [[nodiscard]] bool is_hit(std::uint64_t round, std::size_t member) const {
    return value(round, member) >= limits_.least(steps_[round % late_window]);  // NaN is no hit
  }
  void weigh();
  void judge(std::size_t member, double noise);
  [[nodiscard]] double spread_now();
  void remember_jump();
  void remember_means();

  LateLimits limits_;
  std::vector<float> recent_;  // late_window rows of one value per member
  std::vector<double> steps_;  // of the rows
  std::vector<double> means_;
  std::vector<double> late_means_;  // of the late rounds
  std::vector<double> centres_;     // usual means; 0 in a large group
  std::vector<std::uint8_t> hits_;
  std::vector<std::uint8_t> named_;
  std::vector<float> jumps_;  // mean change of the members from one round to the next
  std::vector<float> past_;   // of a small group: rows of one mean per member
  std::vector<double> room_;
  double step_ns_ = 0;
  double spread_ = 0;      // usual one, of such means
  double means_seen_ = 0;  // from which it is known: rounds of a large group, rows of the past
  std::uint64_t rounds_ = 0;
};

}  // namespace stepscope

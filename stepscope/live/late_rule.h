// SPDX-License-Identifier: Apache-2.0
// Names the members of a group that are late step after step, while the job runs.
//
// Input: for each round (a step, or some collectives of the group) how late each member was, behind
// the median of its peers. From collectives this needs no clocks: all members leave a collective
// together, so a member that came late was in it for a shorter time (job_state.h).
//
// A member is late in a round if it is late by least_late and least_share of the step. It is named
// if this holds in 6 of its last 8 rounds, and if the mean of these rounds (without the largest and
// the smallest) is far beyond what is usual for such means. Means of 8 rounds are compared with
// means of 8 rounds, so jitter that lasts for several rounds counts as usual.
// - In a group of five or more, usual is the larger of two: the spread of the members now
//   (1.4826 x the median absolute deviation), and its mean over the last 200 rounds or so, without
//   the named members. 7 times that is needed, in the first rounds up to twice as much, and twice
//   the change of a member from one round to the next, as a median. Without a time of the step
//   nobody is named in the first 24 rounds.
// - A smaller group has only its past. The mean is compared with the median of the member's means
//   in the last 200 rounds. Two things are usual: the deviations of all members from these medians,
//   of which a tenth (two at least) are larger; and the change of a member from one round to the
//   next, as a median. 4 times the first are needed, the more the shorter the past is, and 2.5
//   times the second. Before it has a past of 20 rounds a member has to be late in 8 rounds of 8,
//   by the second.
// One late round less is enough for a mean of twice the bound.
// A named member is cleared when at most 2 of its last 8 rounds are late.
//
// late_rule_test.cc simulates jobs: an injected slow rank is named within 10 steps in 98 % of them
// or more, and no rank is named in clean jobs of 10,000 steps, nor in short ones on busy machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stepscope {

inline constexpr std::size_t late_window = 8;  // rounds

struct LateLimits {
  double least_share = 0.03;  // of a step
  double least_late = 1e6;    // ns a step
};

class LateRule {
 public:
  explicit LateRule(std::size_t members, const LateLimits& limits = {});

  // A round: lateness by member in ns, NaN if unknown; `step_ns`: the time of the round, 0 if
  // unknown (then least_late alone counts). REQUIRES: one value per member.
  void add(std::span<const float> late, double step_ns);

  [[nodiscard]] std::size_t members() const { return named_.size(); }
  [[nodiscard]] bool named(std::size_t member) const { return named_[member] != 0; }
  // Mean of the late rounds among the last, in ns; without any, of all but the largest and the
  // smallest; 0 before late_window rounds.
  [[nodiscard]] double lateness(std::size_t member) const {
    return hits_[member] > 0 ? late_means_[member] : means_[member];
  }
  [[nodiscard]] double step_ns() const { return step_ns_; }
  // Rounds from the first late one of the last late_window to now; 0: none is late.
  [[nodiscard]] std::size_t rounds_late(std::size_t member) const;
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  struct Past {
    std::vector<float> before;  // the round before, by member: behind the mean of the others
    std::vector<float> jumps;   // mean change of the members from one round to the next
    // Of a group that is too small for a spread of its members:
    std::vector<float> means;       // rows of one mean per member
    std::vector<float> deviations;  // by row: the largest from what is usual for a member
    std::size_t rows = 0;           // that were added
  };

  void weigh();
  void judge_many();
  void judge_few();
  void remember(std::span<const float> late);
  void judge(std::size_t member, std::uint8_t hits, double beyond, double bound);
  [[nodiscard]] double spread_now();
  [[nodiscard]] double usual_jump();

  LateLimits limits_;
  std::vector<float> recent_;  // late_window rows of one value per member
  std::vector<float> steps_;   // of the rows
  std::vector<double> means_;
  std::vector<double> late_means_;  // of the late rounds
  std::vector<std::uint8_t> hits_;
  std::vector<std::uint8_t> named_;
  std::vector<double> room_;
  double step_ns_ = 0;
  double usual_ = 0;   // mean spread of the last rounds
  double weight_ = 0;  // rounds in it
  Past past_;
  std::uint64_t rounds_ = 0;
};

}  // namespace stepscope

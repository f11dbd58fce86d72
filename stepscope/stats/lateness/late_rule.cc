// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/lateness/late_rule.h"

#include <algorithm>
#include <cmath>

#include "stepscope/stats/hampel.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t hits_to_keep = 3;  // a named member
constexpr double share_of_jump = 0.5;    // counts as spread
constexpr double few_means = 8;          // from which the spread may be much too small
constexpr double enough_means = 16;      // to know a past
constexpr std::size_t most_jumps = 64;

constexpr std::size_t fewest_for_spread = 5;  // members
constexpr double memory = 200;                // rounds

// Small groups remember every fourth round, because windows overlap.
constexpr std::size_t rounds_a_row = 4;
constexpr std::size_t most_rows = 50;

}  // namespace

LateRule::LateRule(std::size_t members, const LateLimits& limits)
    : limits_(limits),
      recent_(members * late_window),
      steps_(late_window),
      means_(members),
      late_means_(members),
      centres_(members),
      hits_(members),
      named_(members) {}

void LateRule::add(std::span<const float> late, double step_ns) {
  const std::size_t row = rounds_ % late_window;
  std::ranges::copy(late, recent_.begin() + static_cast<std::ptrdiff_t>(row * members()));
  steps_[row] = step_ns;
  ++rounds_;
  remember_jump();
  if (rounds_ < late_window) return;
  weigh();
  const bool many = members() >= fewest_for_spread;
  const double now = many ? spread_now() : 0;
  const double doubt = 1 + few_means / (means_seen_ + few_means);
  double usual = doubt * std::max(now, spread_);
  if (!jumps_.empty()) {
    room_.assign(jumps_.begin(), jumps_.end());
    usual = std::max(usual, share_of_jump * lower_median(room_));
  }
  const double noise = sure_again * usual;
  for (std::size_t m = 0; m < members(); ++m) judge(m, noise);
  if (!many && rounds_ % rounds_a_row == 0) remember_means();
  if (now > 0) {
    // A plain mean at first, then a decayed one.
    means_seen_ = std::min(memory, means_seen_ + 1);
    spread_ += (now - spread_) / means_seen_;
  }
}

void LateRule::judge(std::size_t m, double noise) {
  if (named_[m] != 0) {
    named_[m] = hits_[m] >= hits_to_keep ? 1 : 0;
    return;
  }
  if (means_[m] < limits_.least(step_ns_)) return;
  // Without a past, only the time of the step shows how much is much, and in a small group each
  // round has to be late.
  const bool known = means_seen_ >= enough_means;
  const bool small = members() < fewest_for_spread;
  if (!known && (step_ns_ == 0 || (small && hits_[m] < late_window))) return;
  const double centre = known ? std::max(0.0, centres_[m]) : 0;
  named_[m] = is_late({.usual = means_[m] - centre,
                       .noise = noise,
                       .late_rounds = hits_[m],
                       .rounds = late_window})
                  ? 1
                  : 0;
}

// The spread of the means of the members that are not named; 0 of fewer than five.
double LateRule::spread_now() {
  room_.clear();
  for (std::size_t m = 0; m < members(); ++m)
    if (named_[m] == 0) room_.push_back(means_[m]);
  return room_.size() < fewest_for_spread ? 0 : *robust_deviation(room_);
}

// Adds the means to the past of a small group, and learns from it the usual mean of each member and
// the spread around them. What follows a named member says nothing about noise.
void LateRule::remember_means() {
  if (std::ranges::any_of(named_, [](std::uint8_t n) { return n != 0; })) return;
  const std::size_t row = static_cast<std::size_t>(means_seen_++) % most_rows * members();
  if (past_.size() <= row) past_.resize(row + members());
  for (std::size_t m = 0; m < members(); ++m) past_[row + m] = static_cast<float>(means_[m]);
  std::vector<double> away;
  for (std::size_t m = 0; m < members(); ++m) {
    room_.clear();
    for (std::size_t at = m; at < past_.size(); at += members()) room_.push_back(past_[at]);
    centres_[m] = lower_median(room_);
    for (const double mean : room_) away.push_back(mean - centres_[m]);
  }
  spread_ = *robust_deviation(away);
}

// How much a member changes from one round to the next, behind the mean of the others: the median
// of the members.
void LateRule::remember_jump() {
  if (rounds_ < 2) return;
  room_.clear();
  for (std::size_t m = 0; m < members(); ++m)
    room_.push_back(double{value(rounds_ - 1, m)} - double{value(rounds_ - 2, m)});
  const auto n = static_cast<double>(members());
  const double sum = n * *mean(room_);
  if (std::isnan(sum)) return;  // one is unknown
  for (double& change : room_) change = std::abs(n > 1 ? (n * change - sum) / (n - 1) : change);
  const auto jump = static_cast<float>(lower_median(room_));
  if (jumps_.size() < most_jumps)
    jumps_.push_back(jump);
  else
    jumps_[rounds_ % most_jumps] = jump;
}

// Hits and means of each member over the last rounds.
void LateRule::weigh() {
  step_ns_ = *mean(steps_);
  for (std::size_t m = 0; m < members(); ++m) {
    double late_sum = 0;
    std::size_t hits = 0;
    room_.clear();
    for (std::uint64_t round = 0; round < late_window; ++round) {
      if (is_hit(round, m)) {
        late_sum += double{value(round, m)};
        ++hits;
      }
      if (!std::isnan(value(round, m))) room_.push_back(double{value(round, m)});
    }
    hits_[m] = static_cast<std::uint8_t>(hits);
    late_means_[m] = hits > 0 ? late_sum / static_cast<double>(hits) : 0;
    means_[m] = room_.empty() ? 0 : lower_median(room_);
  }
}

std::size_t LateRule::rounds_late(std::size_t member) const {
  for (std::size_t age = std::min<std::uint64_t>(rounds_, late_window); age > 0; --age)
    if (is_hit(rounds_ - age, member)) return age;
  return 0;
}

}  // namespace stepscope

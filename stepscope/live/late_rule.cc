// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/late_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepscope/base/result.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::uint8_t hits_to_name = late_window - 2;
constexpr std::uint8_t hits_to_keep = 3;
constexpr std::size_t fewest_for_spread = 5;
constexpr double times_the_spread = 7;
constexpr double times_the_jump_of_many = 2;
constexpr double memory = 200;  // rounds
constexpr double first_windows = 8;

// Of small groups. Windows overlap, so every fourth is remembered.
constexpr std::size_t most_rows = 50;
constexpr std::size_t rounds_a_row = 4;
constexpr std::size_t fewest_rows = 5;
constexpr std::size_t most_jumps = 64;
constexpr double times_the_deviation = 4;
constexpr double rows_of_doubt = 10;
constexpr double times_the_jump = 2.5;

}  // namespace

LateRule::LateRule(std::size_t members, const LateLimits& limits)
    : limits_(limits),
      recent_(members * late_window),
      steps_(late_window),
      means_(members),
      late_means_(members),
      hits_(members),
      named_(members) {}

void LateRule::add(std::span<const float> late, double step_ns) {
  check(late.size() == members(), "a value for each member of the group");
  const auto row = static_cast<std::ptrdiff_t>(rounds_ % late_window);
  std::ranges::copy(late, recent_.begin() + row * static_cast<std::ptrdiff_t>(members()));
  steps_[static_cast<std::size_t>(row)] = static_cast<float>(step_ns);
  ++rounds_;
  remember(late);
  if (rounds_ < late_window) return;
  weigh();
  members() >= fewest_for_spread ? judge_many() : judge_few();
}

// Names the member if its mean lateness is beyond the bounds, and clears it.
void LateRule::judge(std::size_t m, std::uint8_t hits, double beyond, double bound) {
  const double least = std::max(limits_.least_late, limits_.least_share * step_ns_);
  // Twice the bound makes up for one round.
  const bool often = hits_[m] >= hits || (hits_[m] + 1 == hits && bound > 0 && beyond >= 2 * bound);
  if (named_[m] == 0) named_[m] = often && means_[m] >= least && beyond >= bound ? 1 : 0;
  if (named_[m] != 0 && hits_[m] < hits_to_keep) named_[m] = 0;
}

void LateRule::judge_many() {
  const double now = spread_now();
  // The spread of a few members in one window is often much too small.
  const double doubt = 1 + first_windows / (weight_ + first_windows);
  const double bound = std::max(times_the_spread * doubt * std::max(now, usual_),
                                times_the_jump_of_many * usual_jump());
  // Without a time of the step, the spread alone tells what is much.
  if (step_ns_ > 0 || weight_ >= 2 * first_windows)
    for (std::size_t m = 0; m < members(); ++m) judge(m, hits_to_name, means_[m], bound);
  if (now == 0) return;
  // A plain mean at first, then a decayed one.
  weight_ = std::min(memory, weight_ + 1);
  usual_ += (now - usual_) / weight_;
}

void LateRule::judge_few() {
  const std::size_t rows = past_.deviations.size();
  std::vector<double> usual_means(members());
  if (rows > 0)
    for (std::size_t m = 0; m < members(); ++m) {
      room_.clear();
      for (std::size_t row = 0; row < rows; ++row)
        room_.push_back(past_.means[row * members() + m]);
      usual_means[m] = lower_median(room_);
    }
  double deviation = 0;
  for (std::size_t m = 0; m < members(); ++m)
    deviation = std::max(deviation, std::abs(means_[m] - usual_means[m]));
  const bool known = rows >= fewest_rows;
  double bound = 0;
  if (known) {
    room_.assign(past_.deviations.begin(), past_.deviations.end());
    const double doubt = 1 + rows_of_doubt / static_cast<double>(rows);
    bound = times_the_deviation * doubt *
            order_statistic(room_, rows - 1 - std::max<std::size_t>(2, rows / 10));
  }
  bound = std::max(bound, times_the_jump * usual_jump());
  // Of a group without a past nothing is known, unless the step tells what is much.
  if (known || step_ns_ > 0)
    for (std::size_t m = 0; m < members(); ++m)
      judge(m, known ? hits_to_name : late_window,
            means_[m] - (known ? std::max(0.0, usual_means[m]) : 0.0), bound);
  // What follows a named member says nothing about noise.
  const bool quiet = std::ranges::all_of(named_, [](std::uint8_t n) { return n == 0; });
  if (!quiet || rounds_ % rounds_a_row != 0) return;
  if (rows < most_rows) {
    past_.means.resize((rows + 1) * members());
    past_.deviations.push_back(0);
  }
  const std::size_t to = past_.rows++ % most_rows;
  for (std::size_t m = 0; m < members(); ++m)
    past_.means[to * members() + m] = static_cast<float>(means_[m]);
  past_.deviations[to] = static_cast<float>(deviation);
}

double LateRule::usual_jump() {
  if (past_.jumps.empty()) return 0;
  room_.assign(past_.jumps.begin(), past_.jumps.end());
  return lower_median(room_);
}

// How much the members change from one round to the next.
void LateRule::remember(std::span<const float> late) {
  double sum = 0;
  for (const float value : late) sum += value;  // NaN if one is unknown
  const auto others = static_cast<double>(members() - 1);
  double jump = 0;
  past_.before.resize(members(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t m = 0; m < members(); ++m) {
    const auto value =
        static_cast<float>(members() > 1 ? late[m] - (sum - late[m]) / others : late[m]);
    jump += std::abs(value - past_.before[m]) / static_cast<double>(members());
    past_.before[m] = value;
  }
  if (std::isnan(jump)) return;
  if (past_.jumps.size() < most_jumps)
    past_.jumps.push_back(static_cast<float>(jump));
  else
    past_.jumps[rounds_ % most_jumps] = static_cast<float>(jump);
}

// Hits and means of each member over the rows.
void LateRule::weigh() {
  step_ns_ = 0;
  for (const float step : steps_) step_ns_ += step / static_cast<double>(late_window);
  const double least_now = limits_.least_late;
  for (std::size_t m = 0; m < members(); ++m) {
    double sum = 0, late_sum = 0, most = -INFINITY, fewest = INFINITY;
    std::size_t count = 0;
    std::uint8_t hits = 0;
    for (std::size_t row = 0; row < late_window; ++row) {
      const double value = recent_[row * members() + m];
      if (std::isnan(value)) continue;
      const double least = std::max(least_now, limits_.least_share * steps_[row]);
      hits = static_cast<std::uint8_t>(hits + (value >= least ? 1 : 0));
      late_sum += value >= least ? value : 0;
      sum += value;
      most = std::max(most, value);
      fewest = std::min(fewest, value);
      ++count;
    }
    hits_[m] = hits;
    late_means_[m] = hits > 0 ? late_sum / hits : 0;
    means_[m] = count > 2 ? (sum - most - fewest) / static_cast<double>(count - 2) : 0;
  }
}

std::size_t LateRule::rounds_late(std::size_t member) const {
  for (std::size_t age = std::min<std::uint64_t>(rounds_, late_window); age > 0; --age) {
    const auto row = static_cast<std::size_t>((rounds_ - age) % late_window);
    const double value = recent_[row * members() + member];  // NaN is no hit
    if (value >= std::max(limits_.least_late, limits_.least_share * steps_[row])) return age;
  }
  return 0;
}

// The spread of the means of the members that are not named; 0 with fewer than five.
double LateRule::spread_now() {
  room_.clear();
  for (std::size_t m = 0; m < members(); ++m)
    if (named_[m] == 0) room_.push_back(means_[m]);
  if (room_.size() < fewest_for_spread) return 0;
  const double centre = lower_median(room_);
  for (double& value : room_) value = std::abs(value - centre);
  return 1.4826 * lower_median(room_);
}

}  // namespace stepscope

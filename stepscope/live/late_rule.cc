// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/late_rule.h"

#include <algorithm>
#include <cmath>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

constexpr std::uint8_t hits_to_name = late_window - 2;
constexpr std::uint8_t hits_to_keep = 3;
constexpr std::size_t fewest_for_spread = 5;
constexpr double times_the_spread = 7;
constexpr double times_in_small_groups = 9;
constexpr double memory = 200;  // rounds
constexpr double history = 20;  // rounds from which on the history counts

double middle(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

LateRule::LateRule(std::size_t members, const LateLimits& limits)
    : limits_(limits),
      recent_(members * late_window),
      steps_(late_window),
      means_(members),
      late_means_(members),
      hits_(members),
      named_(members),
      usual_means_(members) {}

void LateRule::add(std::span<const float> late, double step_ns) {
  check(late.size() == members(), "a value for each member of the group");
  const auto row = static_cast<std::ptrdiff_t>(rounds_ % late_window);
  std::ranges::copy(late, recent_.begin() + row * static_cast<std::ptrdiff_t>(members()));
  steps_[static_cast<std::size_t>(row)] = static_cast<float>(step_ns);
  ++rounds_;
  if (rounds_ < late_window) return;
  weigh();
  const double now = spread_now();
  const bool many = members() >= fewest_for_spread;
  const bool known = weight_ >= history;
  const double spread = std::max(many ? now : 0.0, known || many ? usual_ : 0.0);
  const double least = std::max(limits_.least_late, limits_.least_share * step_ns_);
  const std::uint8_t needed = many || known ? hits_to_name : late_window;
  // Of a small group nothing is known before it has a history, unless the step tells what is much.
  const bool may_name = many || known || step_ns_ > 0;
  bool quiet = true;
  for (std::size_t m = 0; m < members(); ++m) {
    // The few members of a small group are compared with what is usual for each.
    const double beyond = many ? means_[m] : means_[m] - std::max(0.0, usual_means_[m]);
    const bool high =
        means_[m] >= least && beyond >= (many ? times_the_spread : times_in_small_groups) * spread;
    if (named_[m] == 0) named_[m] = may_name && hits_[m] >= needed && high ? 1 : 0;
    if (named_[m] != 0 && hits_[m] < hits_to_keep) named_[m] = 0;
    // A member that may be about to be named is no noise.
    quiet &= hits_[m] < hits_to_name - 2;
  }
  if (!quiet && !many) return;
  // A plain mean at first, then a decayed one.
  weight_ = std::min(memory, weight_ + 1);
  usual_ += (now - usual_) / weight_;
  if (many) return;
  for (std::size_t m = 0; m < members(); ++m)
    usual_means_[m] += (means_[m] - usual_means_[m]) / weight_;
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

// The spread of the means of the members that are not named.
double LateRule::spread_now() {
  room_.clear();
  for (std::size_t m = 0; m < members(); ++m)
    if (named_[m] == 0) room_.push_back(means_[m]);
  if (room_.empty()) return 0;
  if (room_.size() < fewest_for_spread) {
    double most = 0;
    for (std::size_t m = 0; m < members(); ++m)
      if (named_[m] == 0) most = std::max(most, std::abs(means_[m] - usual_means_[m]));
    return most;
  }
  const double centre = middle(room_);
  for (double& value : room_) value = std::abs(value - centre);
  return 1.4826 * middle(room_);
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/live_communicator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "stepscope/base/result.h"
#include "stepscope/live/step_curve.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_pattern = 8192;
constexpr std::size_t pattern_check = 64;  // records between searches for a period
constexpr std::size_t most_missing = 64;
constexpr std::size_t most_past = 64;  // rounds of a transfer rule
constexpr std::size_t fewest_past = 24;
constexpr std::size_t most_spare = 64;
// A stamp of the writing of a record is as coarse as the interval of writing.
constexpr std::size_t coarse_stamps = 10;
constexpr std::uint64_t fewest_betweens = 32;
constexpr std::uint64_t most_betweens = 256;
constexpr double a_leap = 10'000;  // times the usual time between two records

std::uint64_t signature(const SeenCollective& seen) {
  return (seen.bytes << 4U) ^ static_cast<std::uint64_t>(seen.kind);
}

std::uint64_t key_of(CollectiveKind kind, std::uint64_t number) {
  return (number << 4U) | static_cast<std::uint64_t>(kind);
}

}  // namespace

LiveCommunicator::LiveCommunicator(std::string id, std::string name, std::int32_t ranks)
    : id_(std::move(id)),
      name_(std::move(name)),
      last_numbers_(collective_kind_count),
      sums_(static_cast<std::size_t>(ranks)) {
  set_period(std::nullopt);
}

void LiveCommunicator::set_period(std::optional<std::size_t> period) {
  period_ = period;
  mark_us_ = 0;
  rounds_.clear();
  const auto begin = [&](std::size_t length) {
    rounds_.push_back({.length = length,
                       .late = std::vector<float>(ranks()),
                       .times = std::vector<std::uint32_t>(ranks()),
                       .rule = LateRule(ranks())});
  };
  if (period || told_collectives_ > 0) return begin(period.value_or(told_collectives_));
  begin(1);
  begin(long_round);
}

void LiveCommunicator::know_step(double step_ns, std::size_t collectives) {
  told_step_ns_ = step_ns;
  const std::size_t known = told_collectives_;
  // A round need not be a step exactly; what is learnt is kept while it is about one.
  if (collectives == 0 || (4 * collectives > 3 * known && 4 * collectives < 5 * known)) return;
  told_collectives_ = collectives;
  if (!period_) set_period(std::nullopt);
}

void LiveCommunicator::add(std::int32_t rank, const SeenCollective& seen, double now) {
  const auto r = static_cast<std::size_t>(rank);
  check(r < ranks(), "the rank is one of the communicator");
  ++counts_.records;
  counts_.least_bytes = std::min(counts_.least_bytes, seen.bytes);
  last_record_ = now;
  if (!std::exchange(sums_[r].seen, true)) ++ranks_seen_;
  auto& last = last_numbers_[static_cast<std::size_t>(seen.kind)];
  if (last.empty()) last.resize(ranks());
  if (last[r] > 0 && seen.number > last[r]) counts_.unrecorded += seen.number - last[r];
  last[r] = std::max(last[r], seen.number + 1);
  if (first_ < 0) first_ = rank;
  if (rank == first_) follow_first(seen);
  const Key key = key_of(seen.kind, seen.number);
  auto [found, added] = open_.try_emplace(key);
  Open& open = found->second;
  if (added) {
    open.kind = seen.kind;
    open.number = seen.number;
    open.since = now;
    if (!spare_.empty()) {
      open.durations = std::move(spare_.back());
      spare_.pop_back();
    }
    open.durations.assign(ranks(), std::numeric_limits<float>::quiet_NaN());
    order_.push_back(key);
  }
  if (!std::isnan(open.durations[r])) return;  // reported twice
  open.durations[r] = static_cast<float>(seen.duration.count());
  if (rank == first_) {
    open.first_us = seen.stamp_us;
    open.exact = seen.exact;
  }
  if (++open.count == ranks()) close(key);
  const std::size_t most = std::max<std::size_t>(64, most_open / ranks());
  while (open_.size() > most) {
    const Key oldest = order_.front();
    order_.pop_front();
    if (open_.contains(oldest)) close(oldest);
  }
  while (order_.size() > 2 * most) order_.pop_front();
}

void LiveCommunicator::close_old(double now) {
  while (!order_.empty()) {
    const auto found = open_.find(order_.front());
    if (found != open_.end()) {
      if (now - found->second.since < patience) return;
      close(order_.front());
    }
    order_.pop_front();
  }
}

void LiveCommunicator::close(Key key) {
  const auto found = open_.find(key);
  Open open = std::move(found->second);
  open_.erase(found);
  const bool all = open.count == ranks();
  (all ? counts_.matched : counts_.unmatched) += open.count;
  counts_.collectives += all ? 1 : 0;
  sorted_.clear();
  for (const float d : open.durations)
    if (!std::isnan(d)) sorted_.push_back(d);
  const bool newest = !unfinished_ || open.since >= unfinished_->since;
  if (all && newest) unfinished_.reset();
  if (!all && newest) {
    Unfinished left{.kind = open.kind, .number = open.number, .since = open.since};
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (!std::isnan(open.durations[r])) continue;
      ++left.missing_count;
      if (left.missing.size() < most_missing) left.missing.push_back(static_cast<std::int32_t>(r));
    }
    unfinished_ = std::move(left);
  }
  if (sorted_.size() >= 2) {
    const float least = *std::ranges::min_element(sorted_);
    const float middle = upper_median(sorted_);
    if (all) transfer_ += least;
    part_transfer_ += all ? least : std::numeric_limits<double>::quiet_NaN();
    for (std::size_t r = 0; r < ranks(); ++r) {
      const float inside = open.durations[r];
      if (std::isnan(inside)) continue;
      sums_[r].late += std::max(0.0F, middle - inside);
      if (!all) continue;
      sums_[r].wait += inside - least;
      sums_[r].last_wait += inside - least;
      sums_[r].inside += inside;
      part_wait_ += (inside - least) / static_cast<double>(ranks());
    }
    const float transfer = all ? least : std::numeric_limits<float>::quiet_NaN();
    for (Rounds& rounds : rounds_) add_to(rounds, open, middle, transfer);
  }
  if (period_) mark_step(open.first_us, open.exact);
  if (spare_.size() < most_spare) spare_.push_back(std::move(open.durations));
}

void LiveCommunicator::add_to(Rounds& rounds, const Open& open, float middle, float transfer) {
  rounds.transfer += transfer;
  for (std::size_t r = 0; r < ranks(); ++r) {
    if (std::isnan(open.durations[r])) continue;
    rounds.late[r] += middle - open.durations[r];
    ++rounds.times[r];
  }
  if (++rounds.closed < rounds.length) return;
  for (std::size_t r = 0; r < ranks(); ++r)  // half of the round is too little
    if (2 * rounds.times[r] <= rounds.length)
      rounds.late[r] = std::numeric_limits<float>::quiet_NaN();
  rounds.rule.add(rounds.late, round_ns(rounds.length));
  if (rounds_.size() == 1) rounds.transfers.add(rounds.transfer, round_ns(rounds.length));
  rounds.transfer = 0;
  std::ranges::fill(rounds.late, 0.0F);
  std::ranges::fill(rounds.times, 0U);
  rounds.closed = 0;
}

double LiveCommunicator::step_ns() const { return told_step_ns_ > 0 ? told_step_ns_ : step_ns_; }

double LiveCommunicator::round_ns(std::size_t collectives) const {
  const std::size_t of_a_step = period_.value_or(told_collectives_);
  if (of_a_step == 0)
    return betweens_ >= fewest_betweens ? between_ns_ * static_cast<double>(collectives) : 0;
  return step_ns() * static_cast<double>(collectives) / static_cast<double>(of_a_step);
}

// A stamp that goes back or leaps ahead is of a clock that was set.
void LiveCommunicator::time_first(std::int64_t stamp_us) {
  const double passed = static_cast<double>(stamp_us - std::exchange(before_us_, stamp_us)) * 1e3;
  if (stamp_us == 0 || passed < 0 || passed == static_cast<double>(stamp_us) * 1e3) return;
  if (betweens_ >= fewest_betweens && passed > a_leap * between_ns_) return;
  betweens_ = std::min(betweens_ + 1, most_betweens);
  between_ns_ += (passed - between_ns_) / static_cast<double>(betweens_);
}

void LiveCommunicator::follow_first(const SeenCollective& seen) {
  time_first(seen.stamp_us);
  if (pattern_.size() == most_pattern)
    pattern_.erase(pattern_.begin(), pattern_.begin() + most_pattern / 2);
  pattern_.push_back(signature(seen));
  const std::size_t n = pattern_.size();
  if (period_) {
    const bool repeats = n > *period_ && pattern_[n - 1] == pattern_[n - 1 - *period_];
    misses_ = repeats ? 0 : misses_ + 1;
    if (misses_ > 2 * *period_) {  // another phase of the job, or lost records
      pattern_.clear();
      misses_ = 0;
      set_period(std::nullopt);
    }
  } else if (n % pattern_check == 0) {
    if (const auto found = find_period(pattern_); found && *found > 1) {
      set_period(found);
      misses_ = 0;
    }
  }
}

// Step times are differences of stamps of the first rank, one period apart.
void LiveCommunicator::mark_step(std::int64_t stamp_us, bool exact) {
  ++marked_;
  if (stamp_us != 0 && stamp_us != last_us_) ++stamps_;
  if (stamp_us == 0 || mark_us_ == 0 || stamp_us < last_us_) {
    // Nothing to subtract from: the begin, a lost record, or a clock that was set back.
    if (stamp_us == 0 && (mark_us_ == 0 || marked_ % *period_ != 0)) return;
    mark_us_ = last_us_ = stamp_us;
    marked_ = stamps_ = 0;
    part_transfer_ = part_wait_ = 0;
    return;
  }
  last_us_ = stamp_us;
  if (marked_ % *period_ != 0 || (!exact && stamps_ < coarse_stamps)) return;
  const auto steps = static_cast<double>(marked_ / *period_);
  CollectiveStep step{.wall_ns = static_cast<double>(stamp_us - mark_us_) * 1e3 / steps,
                      .steps = static_cast<std::int64_t>(marked_ / *period_),
                      .transfer_ns = part_transfer_ / steps,
                      .wait_ns = part_wait_ / steps};
  mark_us_ = stamp_us;
  marked_ = stamps_ = 0;
  part_transfer_ = part_wait_ = 0;
  if (!(step.wall_ns > 0) || (step_ns_ > 0 && step.wall_ns > 1000 * step_ns_)) return;
  step_ns_ = step_ns_ > 0 ? step_ns_ + (step.wall_ns - step_ns_) / 8 : step.wall_ns;
  if (steps_.size() < most_pattern) steps_.push_back(step);
}

void LiveCommunicator::decay(double recent, double last) {
  for (RankSums& sums : sums_) {
    sums.wait *= static_cast<float>(recent);
    for (float* sum : {&sums.late, &sums.last_wait, &sums.inside}) *sum *= static_cast<float>(last);
  }
  transfer_ *= recent;
}

std::vector<LiveCommunicator::LateMember> LiveCommunicator::late() const {
  std::vector<LateMember> out;
  for (std::size_t r = 0; r < ranks(); ++r)
    for (const Rounds& rounds : rounds_)
      if (rounds.rule.named(r)) {
        out.push_back({.rank = static_cast<std::int32_t>(r),
                       .late_ns = rounds.rule.lateness(r),
                       .round_ns = rounds.rule.step_ns(),
                       .round = rounds.length});
        break;
      }
  return out;
}

const TransferRule* LiveCommunicator::transfers() const {
  return rounds_.size() == 1 ? &rounds_.front().transfers : nullptr;
}

double LiveCommunicator::mean_wait() const {
  double sum = 0;
  for (const RankSums& sums : sums_) sum += sums.wait;
  return sum / static_cast<double>(ranks());
}

void TransferRule::add(double transfer_ns, double step_ns) {
  if (std::isnan(transfer_ns) || !(step_ns > 0)) return;
  if (last_.size() >= fewest_past + late_window) {
    if (!longer()) {
      room_.assign(last_.begin(), last_.end() - late_window);
      before_ = lower_median(room_);
      high_ = order_statistic(room_, room_.size() - 1 - room_.size() / 40);
    }
    const std::array beyond = {transfer_ns > high_ ? static_cast<float>(transfer_ns - before_)
                                                   : 0.0F};
    rule_.add(beyond, step_ns);
    if (longer()) return;
  }
  last_.push_back(static_cast<float>(transfer_ns));
  if (last_.size() > most_past + late_window) last_.pop_front();
}

}  // namespace stepscope

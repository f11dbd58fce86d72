// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/own_work.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_phases = 32;
constexpr float weight_of_a_step = 0.25F;
constexpr std::size_t most_untaken = 65'536;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

OwnWork::OwnWork(std::size_t ranks)
    : rule_(ranks), runs_(ranks), epochs_(ranks), recent_phases_(ranks), named_(ranks) {}

std::size_t OwnWork::slot(int rank) {
  const auto [found, added] = slots_.try_emplace(rank, rank_of_.size());
  if (!added) return found->second;
  if (rank_of_.size() == ranks()) {
    slots_.erase(found);
    return ranks();
  }
  rank_of_.push_back(rank);
  return found->second;
}

// The ranks keep their slots and runs; what was learnt of the run before does not count any more.
void OwnWork::begin_anew() {
  for (std::size_t s = 0; s < rank_of_.size(); ++s)
    if (rule_.named(s))
      changes_.push_back({.rank = rank_of_[s], .late = false, .step = closed_, .since = closed_});
  rule_ = LateRule(ranks());
  open_.clear();
  last_steps_.clear();
  closed_ = -1;
  for (auto& phases : recent_phases_) phases.clear();
}

bool OwnWork::add(int rank, const OwnStep& step, double now) {
  const std::size_t s = slot(rank);
  if (s == ranks() || step.run < runs_[s]) return false;
  if (step.run > runs_[s]) {
    if (runs_[s] != 0 && epochs_[s] == epoch_) {
      begin_anew();
      ++epoch_;
    }
    runs_[s] = step.run;
    epochs_[s] = epoch_;
  }
  if (epochs_[s] < epoch_ || step.step <= closed_) return false;
  Open& open = open_[step.step];
  if (open.own.empty()) {
    open.own.assign(ranks(), nan);
    open.since = now;
  }
  if (!std::isnan(open.own[s])) return false;
  open.own[s] = static_cast<float>(step.wall_ns - step.wait_ns);
  open.wall_sum += step.wall_ns;
  open.wait_sum += step.wait_ns;
  auto& recent = recent_phases_[s];
  for (const auto& [name, ns] : step.phases_ns) {
    auto at = static_cast<std::size_t>(std::ranges::find(phases_, name) - phases_.begin());
    if (at == phases_.size()) {
      if (at == most_phases) continue;
      phases_.push_back(name);
    }
    if (recent.size() <= at) recent.resize(at + 1, nan);
    const auto value = static_cast<float>(ns);
    recent[at] =
        std::isnan(recent[at]) ? value : recent[at] + weight_of_a_step * (value - recent[at]);
  }
  // The phases that a step lacks took no time in it.
  for (std::size_t p = 0; p < recent.size(); ++p)
    if (std::ranges::none_of(step.phases_ns, [&](const auto& e) { return e.first == phases_[p]; }))
      recent[p] -= weight_of_a_step * (std::isnan(recent[p]) ? 0 : recent[p]);
  if (++open.count == ranks()) {
    // Steps end in order: the rest of an earlier one was lost.
    while (open_.begin()->first < step.step) close(open_.begin());
    close(open_.begin());
  }
  const std::size_t most = std::clamp<std::size_t>(most_open / ranks(), 64, most_open_steps);
  while (open_.size() > most) close(open_.begin());
  return true;
}

void OwnWork::close_old(double now) {
  while (!open_.empty() && now - open_.begin()->second.since >= patience) close(open_.begin());
}

void OwnWork::close(std::map<std::int64_t, Open>::iterator open) {
  const std::int64_t step = open->first;
  const Open closed = std::move(open->second);
  open_.erase(open);
  closed_ = std::max(closed_, step);
  const auto count = static_cast<double>(closed.count);
  const double wall = closed.wall_sum / count;
  if (samples_.size() < most_untaken)
    samples_.push_back({.wall_ns = wall, .iteration = step, .wait_ns = closed.wait_sum / count});
  if (closed.count >= 2) judge(closed.own, wall, step);
}

void OwnWork::add_round(std::span<const float> own_ns, double step_ns, std::int64_t step) {
  std::vector<float> by_slot(ranks(), nan);
  for (std::size_t rank = 0; rank < own_ns.size(); ++rank)
    if (const std::size_t s = slot(static_cast<int>(rank)); s < ranks()) by_slot[s] = own_ns[rank];
  closed_ = step;
  judge(by_slot, step_ns, step);
}

void OwnWork::judge(std::span<const float> own_ns, double step_ns, std::int64_t step) {
  room_.clear();
  for (const float own : own_ns)
    if (!std::isnan(own)) room_.push_back(own);
  if (room_.size() < 2) return;
  const float middle = lower_median(room_);
  std::vector<float> late(own_ns.begin(), own_ns.end());
  for (float& own : late) own -= middle;
  std::vector<std::uint8_t> before(ranks());
  for (std::size_t s = 0; s < ranks(); ++s) before[s] = rule_.named(s) ? 1 : 0;
  rule_.add(late, step_ns);
  if (last_steps_.size() == late_window) last_steps_.erase(last_steps_.begin());
  last_steps_.push_back(step);
  for (std::size_t s = 0; s < rank_of_.size(); ++s) {
    if (rule_.named(s) == (before[s] != 0)) continue;
    if (rule_.named(s)) {
      const std::size_t rounds = std::min(rule_.rounds_late(s), last_steps_.size());
      named_[s] = {.rank = rank_of_[s],
                   .step = step,
                   .since = last_steps_[last_steps_.size() - rounds],
                   .late_ns = rule_.lateness(s),
                   .step_ns = rule_.step_ns()};
      named_[s].phase = phase_of(s, rule_.lateness(s));
      changes_.push_back(named_[s]);
    } else {
      changes_.push_back({.rank = rank_of_[s], .late = false, .step = step, .since = step});
    }
  }
}

// The phase in which the rank is behind the median of its peers by most, if that is at least half
// of its lateness.
std::string OwnWork::phase_of(std::size_t slot, double late_ns) {
  std::size_t found = phases_.size();
  float most = static_cast<float>(0.5 * late_ns);
  for (std::size_t p = 0; p < recent_phases_[slot].size(); ++p) {
    room_.clear();
    for (std::size_t s = 0; s < rank_of_.size(); ++s)
      if (s != slot && !recent_phases_[s].empty())
        room_.push_back(recent_phases_[s].size() > p && !std::isnan(recent_phases_[s][p])
                            ? recent_phases_[s][p]
                            : 0.0F);
    if (room_.empty() || std::isnan(recent_phases_[slot][p])) continue;
    const float behind = recent_phases_[slot][p] - lower_median(room_);
    if (behind < most) continue;
    most = behind;
    found = p;
  }
  return found < phases_.size() ? phases_[found] : std::string();
}

std::vector<LateOwnWork> OwnWork::late() const {
  std::vector<LateOwnWork> out;
  for (std::size_t s = 0; s < rank_of_.size(); ++s) {
    if (!rule_.named(s)) continue;
    out.push_back(named_[s]);
    out.back().late_ns = rule_.lateness(s);
    out.back().step_ns = rule_.step_ns();
  }
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/straggler.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stepscope/stats/lateness/excess.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::ptrdiff_t most_recent = 256;  // steps that are judged

struct Member {
  std::size_t rank = 0;  // row in the window's ranks
  std::int64_t step = 0;
  Ns arrival{};  // on the job's clock
  Ns stall{};
};

// The account of one rank.
struct StretchAccount {
  std::uint64_t collectives = 0;
  std::uint64_t last = 0;
  Ns cost{};
  Ns stall{};
  struct Step {
    Ns late{};    // sum
    Ns latest{};  // maximum
  };
  std::map<std::int64_t, Step> steps;  // steps in which it was compared
};

// The calls of steps that have ended.
std::vector<Member> members_of(const JobWindow& window, const std::vector<RankArrival>& calls) {
  std::vector<Member> members;
  for (const auto& [row, call] : calls) {
    const RankWindow& rank = window.ranks[row];
    if (call->step < rank.end_step)
      members.push_back({.rank = row,
                         .step = call->step,
                         .arrival = call->submitted + rank.clock_offset,
                         .stall = call->stall});
  }
  return members;
}

void account(std::vector<StretchAccount>& accounts, std::vector<Member> members, Ns uncertainty) {
  if (members.size() < 2) return;
  std::ranges::stable_sort(members, {}, &Member::arrival);
  const Ns median = members[(members.size() - 1) / 2].arrival;
  for (const Member& member : members) {
    StretchAccount& own = accounts[member.rank];
    ++own.collectives;
    own.stall += member.stall;
    const Ns behind = member.arrival - median;
    const Ns late = behind > uncertainty ? behind : Ns{};
    StretchAccount::Step& step = own.steps[member.step];
    step.late += late;
    step.latest = std::max(step.latest, late);
  }
  const Member& last = members.back();
  const Ns gain = last.arrival - members[members.size() - 2].arrival;
  if (gain <= uncertainty) return;
  Ns waited = Ns::max();
  for (std::size_t i = 0; i + 1 < members.size(); ++i) waited = std::min(waited, members[i].stall);
  ++accounts[last.rank].last;
  accounts[last.rank].cost += std::min(gain, std::max(waited, Ns{}));
}

// The row of the latest rank in each step with a late rank.
std::map<std::int64_t, std::size_t> latest_of_steps(const std::vector<StretchAccount>& accounts) {
  std::map<std::int64_t, std::size_t> latest;
  std::map<std::int64_t, Ns> most;
  for (std::size_t r = 0; r < accounts.size(); ++r) {
    for (const auto& [step, times] : accounts[r].steps) {
      if (times.late <= most[step]) continue;
      most[step] = times.late;
      latest[step] = r;
    }
  }
  return latest;
}

}  // namespace

void Lateness::add(const JobWindow& stretch) {
  std::vector<StretchAccount> accounts(stretch.ranks.size());
  for (const auto& [key, calls] : matched_arrivals(stretch))
    account(accounts, members_of(stretch, calls), options_.clock_uncertainty);
  std::vector<std::int64_t> latest(accounts.size());
  for (const auto& [step, row] : latest_of_steps(accounts)) ++latest[row];
  for (std::size_t r = 0; r < accounts.size(); ++r) {
    const int rank = stretch.ranks[r].rank;
    auto at = std::ranges::lower_bound(accounts_, rank, {}, &Account::rank);
    if (at == accounts_.end() || at->rank != rank) at = accounts_.insert(at, {.rank = rank});
    at->collectives += accounts[r].collectives;
    at->last += accounts[r].last;
    at->cost += accounts[r].cost;
    at->stall += accounts[r].stall;
    for (const auto& [step, times] : accounts[r].steps) {
      at->late += times.late;
      at->latest += times.latest;
      at->recent.push_back(static_cast<double>(times.late.count()));
    }
    if (std::ssize(at->recent) > most_recent)
      at->recent.erase(at->recent.begin(), at->recent.end() - most_recent);
    at->steps += static_cast<std::int64_t>(accounts[r].steps.size());
    at->latest_steps += latest[r];
  }
  const JobTotals totals = job_totals(stretch);
  steps_ += totals.steps;
  tokens_ += totals.tokens;
  wall_ += totals.wall;
}

// Whether the rank waits no longer than most others: a rank that comes late because it waited
// elsewhere is a victim.
bool Lateness::waits_little(const Account& own) const {
  const auto less = std::ranges::count_if(
      accounts_, [&](const Account& other) { return other.stall < own.stall; });
  return 2 * less < std::ssize(accounts_);
}

std::vector<PersistentStraggler> Lateness::ranks() const {
  const double wall = seconds(wall_).count();
  const double step_wall = steps_ > 0 ? wall / static_cast<double>(steps_) : 0;
  std::vector<PersistentStraggler> out;
  for (const Account& own : accounts_) {
    if (own.late <= Ns{}) continue;
    PersistentStraggler row{.rank = own.rank,
                            .collectives = own.collectives,
                            .last = own.last,
                            .steps = own.steps,
                            .latest_steps = own.latest_steps,
                            .late = own.late / own.steps,
                            .latest = own.latest / own.steps,
                            .cost = own.cost};
    if (wall > 0) row.cost_share = seconds(own.cost).count() / wall;
    const double usual = median(own.recent).value_or(0);
    row.persistent = usual >= options_.limits.least(step_wall * 1e9) && stands_out(own.recent) &&
                     waits_little(own);
    if (tokens_ > 0 && wall > 0) {
      row.tokens_per_second = static_cast<double>(tokens_) / wall;
      const double without = wall - seconds(own.cost).count();
      if (without > 0) row.tokens_per_second_without = static_cast<double>(tokens_) / without;
    }
    out.push_back(row);
  }
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) {
    return std::pair(a.cost, a.late) > std::pair(b.cost, b.late);
  });
  return out;
}

std::vector<PersistentStraggler> late_ranks(const JobWindow& window,
                                            const LatenessOptions& options) {
  Lateness lateness(options);
  lateness.add(window);
  return lateness.ranks();
}

}  // namespace stepscope

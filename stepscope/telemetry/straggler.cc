// SPDX-License-Identifier: Apache-2.0
#include "stepscope/telemetry/straggler.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace stepscope {
namespace {

struct Member {
  std::size_t rank = 0;  // row of the window's ranks
  std::int64_t step = 0;
  Ns arrival{};  // on the job's clock
  Ns stall{};
};

struct Account {
  std::uint64_t collectives = 0;
  std::uint64_t last = 0;
  Ns cost{};
  std::map<std::int64_t, Ns> late;  // by step, of those in which it was compared
};

using Key = std::tuple<std::string_view, std::uint64_t>;  // group, sequence

bool is_message(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::recv ||
         kind == CollectiveKind::send_recv;
}

std::map<Key, std::vector<Member>> matched(const JobWindow& window) {
  std::map<Key, std::vector<Member>> calls;
  for (std::size_t r = 0; r < window.ranks.size(); ++r) {
    const RankWindow& rank = window.ranks[r];
    for (const Arrival& a : rank.arrivals)
      if (!is_message(a.kind))
        calls[{rank.groups[a.group].name, a.sequence}].push_back(
            {.rank = r,
             .step = a.step,
             .arrival = a.submitted + rank.clock_offset,
             .stall = a.stall});
  }
  return calls;
}

void account(std::vector<Account>& accounts, std::vector<Member>& members, Ns uncertainty) {
  if (members.size() < 2) return;
  std::ranges::stable_sort(members, {}, &Member::arrival);
  const Ns median = members[(members.size() - 1) / 2].arrival;
  for (const Member& member : members) {
    Account& own = accounts[member.rank];
    ++own.collectives;
    const Ns late = member.arrival - median;
    own.late[member.step] += late > uncertainty ? late : Ns{};
  }
  const Member& last = members.back();
  const Ns gain = last.arrival - members[members.size() - 2].arrival;
  if (gain <= uncertainty) return;
  Ns waited = Ns::max();
  for (std::size_t i = 0; i + 1 < members.size(); ++i) waited = std::min(waited, members[i].stall);
  ++accounts[last.rank].last;
  accounts[last.rank].cost += std::min(gain, std::max(waited, Ns{}));
}

// The row of the rank that was latest in each step, where one was late at all.
std::map<std::int64_t, std::size_t> latest_of_steps(const std::vector<Account>& accounts) {
  std::map<std::int64_t, std::size_t> latest;
  std::map<std::int64_t, Ns> most;
  for (std::size_t r = 0; r < accounts.size(); ++r) {
    for (const auto& [step, late] : accounts[r].late) {
      if (late <= most[step]) continue;
      most[step] = late;
      latest[step] = r;
    }
  }
  return latest;
}

}  // namespace

std::vector<PersistentStraggler> late_ranks(const JobWindow& window,
                                            const LatenessOptions& options) {
  std::vector<Account> accounts(window.ranks.size());
  for (auto& [key, members] : matched(window))
    account(accounts, members, options.clock_uncertainty);
  const auto latest = latest_of_steps(accounts);
  const JobTotals totals = job_totals(window);
  const double wall = seconds(totals.wall).count();
  std::vector<PersistentStraggler> out;
  for (std::size_t r = 0; r < accounts.size(); ++r) {
    const Account& own = accounts[r];
    Ns late{};
    for (const auto& [step, time] : own.late) late += time;
    if (late <= Ns{}) continue;
    PersistentStraggler row{.rank = window.ranks[r].rank,
                            .collectives = own.collectives,
                            .last = own.last,
                            .steps = static_cast<std::int64_t>(own.late.size()),
                            .cost = own.cost};
    for (const auto& [step, rank] : latest) row.latest_steps += rank == r ? 1 : 0;
    row.late = late / row.steps;
    if (wall > 0) row.cost_share = seconds(own.cost).count() / wall;
    const double step_wall = totals.steps > 0 ? wall / static_cast<double>(totals.steps) : 0;
    row.persistent = 2 * row.latest_steps >= row.steps && row.late >= options.least_late &&
                     seconds(row.late).count() >= options.least_share * step_wall;
    if (totals.tokens > 0 && wall > 0) {
      row.tokens_per_second = static_cast<double>(totals.tokens) / wall;
      const double without = wall - seconds(own.cost).count();
      if (without > 0) row.tokens_per_second_without = static_cast<double>(totals.tokens) / without;
    }
    out.push_back(row);
  }
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) {
    return std::pair(a.cost, a.late) > std::pair(b.cost, b.late);
  });
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/stragglers.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/stats/lateness/excess.h"

namespace stepscope {
namespace {

// The part of a delay that the median rank has not waited for before it starts the next collective
// shows again there. It has waited for calls that have ended. Calls in flight together share their
// waits, and the longest wait counts; from one start to the next no wait is longer than the time
// between them.
// So does the part of the median rank's first step in which the late rank has no rows yet: what it
// did there was not recorded.
void find_carried(std::span<const RankView> views, const Collectives& job,
                  std::vector<LateArrival>& arrivals) {
  const auto not_recorded = [&](CollectiveMember late, CollectiveMember median) {
    const std::span<const Step> steps = views[median.view].steps;
    return steps.empty() ? Ns{0}
                         : std::max(Ns{0}, views[late.view].index->start - steps.front().start);
  };
  std::map<std::uint32_t, std::vector<LateArrival*>> by_view;
  for (LateArrival& arrival : arrivals) by_view[arrival.member.view].push_back(&arrival);
  struct Wait {
    Ns end{};  // of the call
    Ns left{};
  };
  for (auto& [view, mine] : by_view) {
    std::ranges::stable_sort(
        mine, {}, [&](const LateArrival* a) { return job.matches.call(a->member).start; });
    Ns outstanding = not_recorded(mine.front()->member, mine.front()->median);
    Ns before{};              // the start of the last median call
    std::vector<Wait> waits;  // of the median calls in flight
    for (LateArrival* arrival : mine) {
      const CollectiveCall& median = job.matches.call(arrival->median);
      Ns waited{};
      for (const Wait& wait : waits)
        if (wait.end <= median.start) waited = std::max(waited, wait.left);
      waited = std::clamp(median.start - before, Ns{0}, waited);
      arrival->carried = std::min(arrival->late, std::max(Ns{0}, outstanding - waited));
      outstanding = arrival->late;
      before = median.start;
      std::erase_if(waits, [&](const Wait& w) { return w.end <= before || w.left <= waited; });
      for (Wait& wait : waits) wait.left -= waited;
      waits.push_back({median.end, job.exposed[arrival->median.view][arrival->median.call]});
    }
  }
}

// Excludes messages (a receive is late because of its sender's schedule), calls outside the steps,
// and roles with a single member. Differences up to `noise` count as 0.
std::vector<LateArrival> late_arrivals(std::span<const RankView> views, const Collectives& job,
                                       const Roles& roles, Ns noise) {
  const CollectiveMatches& matches = job.matches;
  std::vector<LateArrival> arrivals;
  for (std::uint32_t i = 0; i < matches.matched.size(); ++i) {
    const MatchedCollective& matched = matches.matched[i];
    if (matched.message) continue;
    std::map<std::string_view, std::vector<CollectiveMember>> by_role;
    for (const CollectiveMember m : matches.members_of(matched))
      by_role[roles[m.view]].push_back(m);
    for (auto& [role, members] : by_role) {
      if (members.size() < 2) continue;
      const auto start = [&](CollectiveMember m) { return matches.call(m).start; };
      std::ranges::stable_sort(members, {}, start);
      const CollectiveMember median = members[(members.size() - 1) / 2];
      for (const CollectiveMember m : members) {
        const auto step = matches.call(m).step;
        if (!step) continue;
        LateArrival arrival{.member = m, .median = median, .matched = i, .step = *step};
        const Ns behind = start(m) - start(median);
        if (behind > noise) arrival.late = behind;
        arrival.last = arrival.late > Ns{0} && m.view == members.back().view;
        arrivals.push_back(arrival);
      }
    }
  }
  find_carried(views, job, arrivals);
  return arrivals;
}

// How late a rank was in a step: at all, and without what earlier collectives already showed.
struct Lateness {
  Ns all{};
  Ns own{};
};

struct Tally {
  Straggler result;
  std::map<std::int64_t, Lateness> in;  // Step::index →, in every step it was compared in
  Ns wall{};                            // of those steps
  Ns own{};
  std::set<std::pair<std::uint32_t, std::uint32_t>> steps_seen;  // view, row
  std::vector<LateArrival> arrivals;                             // late ones
};

using Tallies = std::map<int, Tally>;  // by rank

Tallies tally(std::span<const RankView> views, const Roles& roles,
              std::span<const LateArrival> arrivals) {
  Tallies tallies;
  for (const LateArrival& arrival : arrivals) {
    const std::uint32_t v = arrival.member.view;
    const Step& step = views[v].steps[arrival.step];
    Tally& mine = tallies[views[v].rank];
    mine.result.rank = views[v].rank;
    mine.result.role = roles[v];
    ++mine.result.collectives;
    if (arrival.last) ++mine.result.last_count;
    mine.result.late += arrival.late;
    const Ns own = std::max(Ns{0}, arrival.late - arrival.carried);
    mine.in[step.index].all += arrival.late;
    mine.in[step.index].own += own;
    mine.own += own;
    if (mine.steps_seen.emplace(v, arrival.step).second) mine.wall += step.end - step.start;
    if (own == Ns{0}) continue;
    mine.arrivals.push_back(arrival);
    mine.arrivals.back().late = own;
  }
  return tallies;
}

// The ranks of one role in one step.
struct RoleStep {
  int latest = -1;
  Ns most{};            // its lateness
  std::vector<Ns> own;  // of each rank, sorted
};
using RoleSteps = std::map<std::pair<std::string, std::int64_t>, RoleStep>;

RoleSteps steps_of_roles(const Tallies& tallies) {
  RoleSteps roles;
  for (const auto& [rank, mine] : tallies)
    for (const auto& [step, late] : mine.in) {
      RoleStep& role = roles[{mine.result.role, step}];
      role.own.push_back(late.own);
      if (late.all <= role.most) continue;
      role.most = late.all;
      role.latest = rank;
    }
  for (auto& [key, role] : roles) std::ranges::sort(role.own);
  return roles;
}

// By step: how much later the rank was than the median of the others that were earlier; 0 if no
// other was earlier.
std::vector<double> leads_of(const Tally& mine, const RoleSteps& roles) {
  std::vector<double> leads;
  for (const auto& [step, late] : mine.in) {
    std::vector<Ns> others = roles.at({mine.result.role, step}).own;
    others.erase(std::ranges::lower_bound(others, late.own));
    const Ns lead = others.empty() ? Ns{0} : late.own - others[(others.size() - 1) / 2];
    leads.push_back(static_cast<double>(lead.count()));
  }
  return leads;
}

void finish(Tally& mine, const RoleSteps& roles, const StragglerOptions& options) {
  Straggler& result = mine.result;
  std::int64_t times = 0;
  for (const auto& [step, late] : mine.in) {
    result.steps.push_back({step, late.all});
    if (roles.at({result.role, step}).latest == result.rank) ++times;
  }
  const std::size_t steps = result.steps.size();
  result.persistence = static_cast<double>(times) / static_cast<double>(steps);
  result.upper_bound = mine.own / static_cast<std::int64_t>(steps);
  if (mine.wall > Ns{0}) {
    result.late_share =
        static_cast<double>(mine.own.count()) / static_cast<double>(mine.wall.count());
  }
  const std::vector<double> leads = leads_of(mine, roles);
  const auto of_step = [&](Ns sum) {
    return static_cast<double>(sum.count()) / static_cast<double>(steps);
  };
  result.significant = of_step(mine.own) >= options.limits.least(of_step(mine.wall)) &&
                       (leads.size() < 2 || stands_out(leads));
}

}  // namespace

bool delays_others(const Straggler& s) {
  return s.significant && !(s.cause && s.cause->doing == LateDoing::waits_for);
}

std::vector<Straggler> find_stragglers(std::span<const RankView> views, const Collectives& job,
                                       const StragglerOptions& options) {
  const Roles roles = find_roles(views, job.matches, job.dimension_of, options.sizes);
  const Ns noise = job.times.clock_uncertainty.value_or(Ns{0});
  const std::vector<LateArrival> arrivals = late_arrivals(views, job, roles, noise);
  Tallies tallies = tally(views, roles, arrivals);
  const RoleSteps role_steps = steps_of_roles(tallies);
  const MatchedRows matched = matched_rows(job.matches);
  std::vector<Straggler> stragglers;
  for (auto& [rank, mine] : tallies) {
    if (mine.result.late <= Ns{0}) continue;
    finish(mine, role_steps, options);
    if (mine.result.significant) {
      std::ranges::stable_sort(mine.arrivals, std::ranges::greater{}, &LateArrival::late);
      mine.result.cause =
          straggler_cause(views, job, matched, mine.arrivals, mine.result.steps.size());
    }
    stragglers.push_back(std::move(mine.result));
  }
  std::ranges::stable_sort(stragglers, std::ranges::greater{}, &Straggler::late);
  return stragglers;
}

}  // namespace stepscope

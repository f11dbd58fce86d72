// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/stragglers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "stepscope/analysis/ranks/lateness.h"
#include "stepscope/analysis/ranks/straggler_cause.h"
#include "stepscope/stats/lateness/excess.h"

namespace stepscope {
namespace {

struct Tally {
  std::uint32_t view = 0;
  Straggler result;
  std::map<std::int64_t, Ns> late_in;  // Step::index → late, in every step it was compared in
  std::map<std::int64_t, Ns> own_in;   // likewise, of `own`
  Ns wall{};                           // of those steps
  Ns own{};                            // late, without what earlier collectives already showed
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
    mine.view = v;
    mine.result.rank = views[v].rank;
    mine.result.role = roles.of_view[v];
    ++mine.result.collectives;
    if (arrival.last) ++mine.result.last_count;
    mine.result.late += arrival.late;
    mine.late_in[step.index] += arrival.late;
    mine.own_in[step.index] += std::max(Ns{0}, arrival.late - arrival.carried);
    if (mine.steps_seen.emplace(v, arrival.step).second) mine.wall += step.end - step.start;
    if (const Ns own = arrival.late - arrival.carried; own > Ns{0}) {
      mine.own += own;
      mine.arrivals.push_back(arrival);
      mine.arrivals.back().late = own;
    }
  }
  return tallies;
}

// Latest rank of each role and step.
std::map<std::pair<std::string, std::int64_t>, int> latest_of(const Tallies& tallies) {
  std::map<std::pair<std::string, std::int64_t>, std::pair<Ns, int>> worst;
  for (const auto& [rank, mine] : tallies) {
    for (const auto& [step, late] : mine.late_in) {
      const auto [at, fresh] = worst.try_emplace({mine.result.role, step}, std::pair(Ns{0}, -1));
      if (late > at->second.first) at->second = {late, rank};
    }
  }
  std::map<std::pair<std::string, std::int64_t>, int> latest;
  for (const auto& [key, value] : worst) latest[key] = value.second;
  return latest;
}

// By role and step: the lateness of each rank, sorted.
using LateOfRole = std::map<std::pair<std::string, std::int64_t>, std::vector<Ns>>;

LateOfRole late_of_roles(const Tallies& tallies) {
  LateOfRole all;
  for (const auto& [rank, mine] : tallies)
    for (const auto& [step, own] : mine.own_in) all[{mine.result.role, step}].push_back(own);
  for (auto& [key, late] : all) std::ranges::sort(late);
  return all;
}

// By step: how much later the rank was than the median of the others that were earlier; 0 if none
// was.
std::vector<double> leads_of(const Tally& mine, const LateOfRole& roles) {
  std::vector<double> leads;
  for (const auto& [step, own] : mine.own_in) {
    std::vector<Ns> others = roles.at({mine.result.role, step});
    others.erase(std::ranges::lower_bound(others, own));
    const Ns lead = others.empty() ? Ns{0} : own - others[(others.size() - 1) / 2];
    leads.push_back(static_cast<double>(lead.count()));
  }
  return leads;
}

void finish(Tally& mine, const std::map<std::pair<std::string, std::int64_t>, int>& latest,
            const LateOfRole& roles, const StragglerOptions& options) {
  Straggler& result = mine.result;
  std::int64_t times = 0;
  for (const auto& [step, late] : mine.late_in) {
    result.steps.push_back({step, late});
    if (latest.at({result.role, step}) == result.rank) ++times;
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

std::vector<Straggler> find_stragglers(std::span<const RankView> views, const Collectives& job,
                                       const StragglerOptions& options) {
  const Roles roles = find_roles(views, job.matches, job.dimension_of, options.sizes);
  const Ns noise = job.times.clock_uncertainty.value_or(Ns{0});
  const std::vector<LateArrival> arrivals = late_arrivals(job, roles, noise);
  Tallies tallies = tally(views, roles, arrivals);
  const auto latest = latest_of(tallies);
  const LateOfRole roles_late = late_of_roles(tallies);
  std::vector<Straggler> stragglers;
  for (auto& [rank, mine] : tallies) {
    if (mine.result.late <= Ns{0}) continue;
    finish(mine, latest, roles_late, options);
    if (mine.result.significant) {
      std::ranges::stable_sort(mine.arrivals, std::ranges::greater{}, &LateArrival::late);
      mine.result.cause = straggler_cause(views, job, mine.arrivals, mine.result.steps.size());
    }
    stragglers.push_back(std::move(mine.result));
  }
  std::ranges::stable_sort(stragglers, std::ranges::greater{}, &Straggler::late);
  return stragglers;
}

}  // namespace stepscope

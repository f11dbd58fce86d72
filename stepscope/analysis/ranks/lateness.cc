// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/lateness.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace stepscope {
namespace {

// The part of a delay that the median rank has not waited for before it starts the next collective
// shows again there. It has waited for calls that have ended. Calls in flight together share their
// waits, of which the longest counts; from one start to the next no wait is longer than the time
// between them.
void find_carried(const Collectives& job, std::vector<LateArrival>& arrivals) {
  std::map<std::uint32_t, std::vector<LateArrival*>> by_view;
  for (LateArrival& arrival : arrivals) by_view[arrival.member.view].push_back(&arrival);
  struct Wait {
    Ns end{};  // of the call
    Ns left{};
  };
  for (auto& [view, mine] : by_view) {
    std::ranges::stable_sort(
        mine, {}, [&](const LateArrival* a) { return job.matches.call(a->member).start; });
    Ns outstanding{};
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

}  // namespace

std::vector<LateArrival> late_arrivals(const Collectives& job, const Roles& roles, Ns noise) {
  const CollectiveMatches& matches = job.matches;
  std::vector<LateArrival> arrivals;
  for (std::uint32_t i = 0; i < matches.matched.size(); ++i) {
    const MatchedCollective& matched = matches.matched[i];
    if (matched.message) continue;
    std::map<std::string_view, std::vector<CollectiveMember>> by_role;
    for (const CollectiveMember m : matches.members_of(matched))
      by_role[roles.of_view[m.view]].push_back(m);
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
  find_carried(job, arrivals);
  return arrivals;
}

}  // namespace stepscope

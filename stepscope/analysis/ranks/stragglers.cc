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

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/stats/lateness/excess.h"

namespace stepscope {
namespace {

// The lateness of a member of a matched collective within its role.
struct LateArrival {
  CollectiveMember member;
  CollectiveMember median;    // the member at the median arrival of the same role
  std::uint32_t matched = 0;  // row of CollectiveMatches::matched
  std::uint32_t step = 0;     // row of the view's steps
  Ns late{};                  // 0 for the median and the members before it
  // The part of `late` that an earlier collective already showed. The median rank hid it behind
  // compute instead of waiting, so the same delay shows again.
  Ns carried{};
  bool last = false;  // last of its role
};

// The part of a delay that the median rank has not waited for before it starts the next collective
// shows again there. It has waited for calls that have ended. Calls in flight together share their
// waits, and the longest wait counts; from one start to the next no wait is longer than the time
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

// Excludes messages (a receive is late because of its sender's schedule), calls outside the steps,
// and roles with a single member. Differences up to `noise` count as 0.
std::vector<LateArrival> late_arrivals(const Collectives& job, const Roles& roles, Ns noise) {
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
  find_carried(job, arrivals);
  return arrivals;
}

struct Window {
  Ns from{};
  Ns to{};
};

// The use of a device in a window: the union of its operations without communication, and the
// longest stretch without any.
struct DeviceUse {  // or of a thread
  Ns busy{};
  Window gap;                    // longest idle stretch
  SliceId after_gap = no_slice;  // operation that ends the gap; none if the arrival ends it
  std::map<std::string_view, Ns> kernels;
};

DeviceUse use_of(const RankView& view, const DeviceLane& lane, Window window) {
  constexpr std::ptrdiff_t long_running = 64;  // earlier operations that may reach into the window
  const Trace& trace = *view.trace;
  const auto start_of = [&](SliceId op) { return trace.slices.start[index(op)]; };
  auto at = std::ranges::lower_bound(lane.ops, window.from, {}, start_of);
  at -= std::min(long_running, at - lane.ops.begin());
  DeviceUse use;
  use.gap = {window.from, window.from};
  Ns reach = window.from;
  const auto close = [&](Ns until, SliceId op) {
    if (until - reach <= use.gap.to - use.gap.from) return;
    use.gap = {reach, until};
    use.after_gap = op;
  };
  for (; at != lane.ops.end() && start_of(*at) < window.to; ++at) {
    const Ns from = std::max(start_of(*at), window.from);
    const Ns to = std::min(trace.slices.end(*at), window.to);
    if (to <= from || trace.is_communication(*at) || trace.is_wait(*at)) continue;
    use.kernels[trace.name(*at)] += to - from;
    close(from, *at);
    use.busy += std::max(Ns{0}, to - std::max(from, reach));
    reach = std::max(reach, to);
  }
  close(window.to, no_slice);
  return use;
}

// The same for a host thread, by its innermost operators.
DeviceUse host_use(const RankView& view, TrackId thread, Window window) {
  const Slices& s = view.trace->slices;
  const Track& track = view.trace->track(thread);
  const auto starts = std::span(s.start).subspan(track.first, track.count);
  const auto first = std::ranges::lower_bound(starts, window.from) - starts.begin();
  DeviceUse use;
  std::uint32_t leaf = no_row;
  const auto close = [&](Ns next) {
    if (leaf == no_row || next < s.end(SliceId{leaf})) return;
    const Ns time = std::min(s.end(SliceId{leaf}), window.to) - s.start[leaf];
    use.kernels[view.trace->name(SliceId{leaf})] += time;
    use.busy += time;
  };
  for (auto i = track.first + static_cast<std::uint32_t>(first);
       i < track.first + track.count && s.start[i] < window.to; ++i) {
    if (s.category[i] != Category::cpu_op) continue;
    close(s.start[i]);
    leaf = i;
  }
  close(Ns::max());
  return use;
}

// From the end of the rank's previous communication, or the start of the step, to its arrival.
Window before_arrival(const RankView& view, const RankCalls& rank, CollectiveMember m) {
  const CollectiveCall& call = rank.calls[m.call];
  // Host work before the first launch of the step counts too, such as the data loader.
  Window window{view.index->start, call.start};
  if (call.step)
    window.from = std::min(view.steps[*call.step].host_start, view.steps[*call.step].start);
  constexpr std::uint32_t overlapping = 64;
  const std::uint32_t first = m.call - std::min(m.call, overlapping);
  for (std::uint32_t c = first; c < m.call; ++c) {
    if (rank.calls[c].end <= call.start) window.from = std::max(window.from, rank.calls[c].end);
  }
  window.from = std::min(window.from, window.to);
  return window;
}

// Time inside data loaders on the main thread.
Ns loading(const RankView& view, Window window) {
  if (!view.index->main_track) return Ns{};
  const Slices& s = view.trace->slices;
  const Track& track = view.trace->track(*view.index->main_track);
  const auto starts = std::span(s.start).subspan(track.first, track.count);
  const auto first = std::ranges::lower_bound(starts, window.from) - starts.begin();
  Ns sum{};
  Ns covered = window.from;
  for (auto i = track.first + static_cast<std::uint32_t>(first);
       i < track.first + track.count && s.start[i] < window.to; ++i) {
    if (s.start[i] < covered || phase_of_name(view.trace->name(SliceId{i})) != Phase::data)
      continue;
    covered = std::min(s.end(SliceId{i}), window.to);
    sum += covered - s.start[i];
  }
  return sum;
}

class CauseFinder {
  std::span<const RankView> views_;
  const Collectives& job_;

 public:
  CauseFinder(std::span<const RankView> views, const Collectives& job) : views_(views), job_(job) {}

  StragglerCause doing(const LateArrival& late) const {
    const RankView& view = views_[late.member.view];
    const RankView& other = views_[late.median.view];
    const CollectiveCall& call = job_.matches.call(late.member);
    const Window window = before_arrival(view, job_.matches.ranks[late.member.view], late.member);
    const Window peer_window =
        before_arrival(other, job_.matches.ranks[late.median.view], late.median);
    const Ns more_loading = loading(view, window) - loading(other, peer_window);
    if (more_loading * 2 >= late.late) return {LateDoing::more_loading, more_loading};
    const Trace& trace = *view.trace;
    const DeviceLane* lane = lane_of(view, call);
    const DeviceLane* peer_lane = lane_of(other, job_.matches.call(late.median));
    if (lane == nullptr || peer_lane == nullptr) return without_device(late, window, peer_window);
    const DeviceUse mine = use_of(view, *lane, window);
    const DeviceUse peer = use_of(other, *peer_lane, peer_window);
    const Ns more_busy = mine.busy - peer.busy;
    const Ns more_idle =
        (window.to - window.from) - (peer_window.to - peer_window.from) - more_busy;
    if (more_busy > more_idle) return more_compute(late, mine, peer);
    const SliceId op = mine.after_gap == no_slice ? call.slice : mine.after_gap;
    const SliceId launch = view.index->launch(op);
    if (launch == no_slice) return {LateDoing::device_idle, mine.gap.to - mine.gap.from};
    Window gap = mine.gap;
    gap.to = std::clamp(trace.slices.start[index(launch)], gap.from, gap.to);
    if (gap.to == gap.from) return {LateDoing::device_late, mine.gap.to - gap.from};
    return on_host(late, trace.slices.track[index(launch)], gap, more_idle);
  }

 private:
  // `more_idle` is the additional idle time compared with the median rank, over the whole window.
  StragglerCause on_host(const LateArrival& late, TrackId thread, Window window,
                         Ns more_idle) const {
    const RankView& view = views_[late.member.view];
    const Ns since = view.steps[late.step].host_start;
    const Ns gap_length = window.to - window.from;
    const HostActivity activity = host_activity(*view.trace, thread, since, window.from, window.to);
    const std::string_view text = activity.text;
    const bool gap =
        text.starts_with("between ") || text.starts_with("before ") || text.starts_with("after ");
    // The length of the gap if it explains the delay. A much longer gap counts only for the delay.
    const Ns delays = 2 * late.late >= gap_length ? gap_length : late.late;
    if (gap) return {LateDoing::host_gap, delays, activity.text};
    // Counts of small rows differ from step to step. The sentence should not.
    const auto word = text.find_first_not_of("0123456789 ");
    const bool many = word != 0 && text.substr(word).starts_with("short ");
    return {LateDoing::host_work, std::min(late.late, std::max(gap_length, more_idle)),
            std::string(many ? text.substr(word) : text)};
  }

  StragglerCause more_compute(const LateArrival& late, const DeviceUse& mine,
                              const DeviceUse& peer) const {
    std::string_view most;
    Ns difference{};
    for (const auto& [name, time] : mine.kernels) {
      const auto at = peer.kernels.find(name);
      const Ns more = time - (at == peer.kernels.end() ? Ns{0} : at->second);
      if (more <= difference) continue;
      difference = more;
      most = name;
    }
    return {LateDoing::more_compute, mine.busy - peer.busy, std::string(most),
            views_[late.median.view].rank};
  }

  StragglerCause without_device(const LateArrival& late, Window window, Window peer) const {
    const RankView& view = views_[late.member.view];
    const RankView& other = views_[late.median.view];
    if (!view.index->main_track || !other.index->main_track)
      return {LateDoing::unrecorded, late.late};
    const DeviceUse mine = host_use(view, *view.index->main_track, window);
    const DeviceUse theirs = host_use(other, *other.index->main_track, peer);
    const Ns more_busy = mine.busy - theirs.busy;
    const Ns more_idle = (window.to - window.from) - (peer.to - peer.from) - more_busy;
    if (more_busy > more_idle) return more_compute(late, mine, theirs);
    return on_host(late, *view.index->main_track, window, more_idle);
  }
};

// Instances of one kernel template have names that differ only at the end. They count as one.
using GroupKey = std::tuple<LateDoing, std::optional<int>, std::string>;
GroupKey key_of(const StragglerCause& cause) {
  constexpr std::size_t told_apart = 60;
  const bool kernel = cause.doing == LateDoing::more_compute;
  return {cause.doing, cause.peer, kernel ? cause.what.substr(0, told_apart) : cause.what};
}

struct Group {
  StragglerCause first;
  Ns amount{};
  std::set<std::uint32_t> steps;
  std::vector<LateArrival> arrivals;
};

// `late` has arrivals of one view, largest first. `steps` is the number of steps in which the rank
// was compared. Between its previous communication and its arrival the rank had either no device
// work (then the result names the host's activity) or more compute than the rank at the median
// (then it names the kernels). Absent without arrivals.
std::optional<StragglerCause> straggler_cause(std::span<const RankView> views,
                                              const Collectives& job,
                                              std::span<const LateArrival> late,
                                              std::size_t steps) {
  constexpr std::size_t max_causes = 64;
  Ns total{};
  for (const LateArrival& arrival : late) total += arrival.late;
  const CauseFinder finder(views, job);
  std::map<GroupKey, Group> groups;
  Ns seen{};
  for (std::size_t i = 0; i < std::min(max_causes, late.size()) && 10 * seen < 9 * total; ++i) {
    StragglerCause doing = finder.doing(late[i]);
    Group& group = groups[key_of(doing)];
    group.amount += doing.amount;
    group.steps.insert(late[i].step);
    if (group.arrivals.empty()) group.first = std::move(doing);
    group.arrivals.push_back(late[i]);
    seen += late[i].late;
  }
  if (groups.empty()) return std::nullopt;
  Group& group = std::ranges::max_element(groups, {}, [](const auto& entry) {
                   return entry.second.amount;
                 })->second;
  StragglerCause cause = std::move(group.first);
  cause.in_steps = group.steps.size();
  cause.steps = steps;
  cause.amount = group.amount / static_cast<std::int64_t>(cause.in_steps);
  std::map<int, Ns> waits;  // of ranks, for these arrivals
  std::set<CollectiveKind> kinds;
  for (const LateArrival& arrival : group.arrivals) {
    const MatchedCollective& matched = job.matches.matched[arrival.matched];
    const Ns arrived = job.matches.call(arrival.member).start;
    kinds.insert(matched.kind);
    for (const CollectiveMember m : job.matches.members_of(matched)) {
      const CollectiveCall& call = job.matches.call(m);
      const Ns wait = std::min(arrived, call.end) - call.start;
      if (wait > Ns{0}) waits[views[m.view].rank] += wait;
    }
  }
  Ns waited{};
  for (const auto& [rank, wait] : waits) {
    cause.waiting.push_back(rank);
    waited += wait;
  }
  if (waits.empty()) return cause;
  cause.wait = waited / static_cast<std::int64_t>(waits.size() * steps);
  cause.collectives.assign(kinds.begin(), kinds.end());
  return cause;
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

std::vector<Straggler> find_stragglers(std::span<const RankView> views, const Collectives& job,
                                       const StragglerOptions& options) {
  const Roles roles = find_roles(views, job.matches, job.dimension_of, options.sizes);
  const Ns noise = job.times.clock_uncertainty.value_or(Ns{0});
  const std::vector<LateArrival> arrivals = late_arrivals(job, roles, noise);
  Tallies tallies = tally(views, roles, arrivals);
  const RoleSteps role_steps = steps_of_roles(tallies);
  std::vector<Straggler> stragglers;
  for (auto& [rank, mine] : tallies) {
    if (mine.result.late <= Ns{0}) continue;
    finish(mine, role_steps, options);
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

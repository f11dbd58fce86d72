// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/late_cause.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/phase_names.h"

namespace stepscope {
namespace {

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

// Whether a time is most of what a rank is late.
bool explains(Ns time, Ns late) { return time > Ns{0} && 2 * time >= late; }

// A rank's time up to an arrival, without communication that nothing hides.
struct Stretch {
  Window window;
  CollectiveMember next;  // arrives at its end
  std::optional<CollectiveMember>
      communication;  // ended at its begin; absent: the step began there
};

// What a rank did over several stretches and the communication between them.
struct Account {
  Ns begin = Ns::max();
  Ns loading{};
  Ns busy{};
  Ns idle{};     // and does not load
  Ns unknown{};  // in communication that is not split
  std::map<std::string_view, Ns> kernels{};
  std::map<int, Ns> waited{};  // by the rank waited for
  std::map<CollectiveKind, Ns> moved{};
  Window gap{};  // the longest without work
  SliceId after_gap = no_slice;
  CollectiveMember after{};  // arrives at the end of the stretch of the gap
};

Ns sum_of(const auto& times) {
  Ns sum{};
  for (const auto& [key, time] : times) sum += time;
  return sum;
}

auto most_of(const auto& times) {
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
}

struct FoundCause {
  StragglerCause cause;
  Window within;  // the rank's time that was compared
};

class CauseFinder {
  std::span<const RankView> views_;
  const Collectives& job_;
  const MatchedRows& matched_;

 public:
  CauseFinder(std::span<const RankView> views, const Collectives& job, const MatchedRows& matched)
      : views_(views), job_(job), matched_(matched) {}

  // What the rank did more than the rank at the median since both left the same communication, or
  // since the step began. Unrecorded if nothing explains the lateness.
  FoundCause find(const LateArrival& late) const {
    const auto [mine, peer] = accounts_of(late);
    FoundCause found{.cause = {}, .within = {mine.begin, job_.matches.call(late.member).start}};
    const Ns waited = sum_of(mine.waited) - sum_of(peer.waited);
    const Ns moved = sum_of(mine.moved) - sum_of(peer.moved);
    const Ns loaded = mine.loading - peer.loading;
    const Ns computed = mine.busy - peer.busy;
    const Ns idled = mine.idle - peer.idle;
    const Ns most = std::max({waited, moved, loaded, computed, idled});
    if (!explains(most, late.late) || mine.unknown - peer.unknown > most) return found;
    StragglerCause& cause = found.cause;
    if (most == waited)
      cause = {
          .doing = LateDoing::waits_for, .amount = waited, .peer = most_of(mine.waited)->first};
    else if (most == loaded)
      cause = {LateDoing::more_loading, loaded};
    else if (most == moved)
      cause = {
          LateDoing::longer_transfer, moved,
          std::string(collective_kind_names[static_cast<std::size_t>(most_of(mine.moved)->first)])};
    else if (most == computed)
      cause = more_compute(late, mine, peer);
    else
      cause = without_work(late, mine, idled);
    if (!explains(cause.amount, late.late)) cause = {};
    return found;
  }

 private:
  // Compute or other work hides most of the call.
  bool hidden(CollectiveMember m) const {
    const CollectiveCall& call = job_.matches.call(m);
    return 2 * job_.exposed[m.view][m.call] < call.end - call.start;
  }

  // The start of the step. Host work before its first launch counts too, such as the data loader.
  Ns begin_before(CollectiveMember m) const {
    const RankView& view = views_[m.view];
    const auto step = job_.matches.call(m).step;
    return step ? std::min(view.steps[*step].host_start, view.steps[*step].start)
                : view.index->start;
  }

  // Back to `begin`, the last first.
  std::vector<Stretch> stretches_before(CollectiveMember m, Ns begin) const {
    constexpr std::uint32_t overlapping = 64;
    const std::vector<CollectiveCall>& calls = job_.matches.ranks[m.view].calls;
    std::vector<Stretch> all;
    for (std::optional<CollectiveMember> next = m; next; next = all.back().communication) {
      const Ns arrival = calls[next->call].start;
      Stretch& stretch = all.emplace_back(Window{std::min(begin, arrival), arrival}, *next);
      for (std::uint32_t c = next->call - std::min(next->call, overlapping); c < next->call; ++c) {
        if (calls[c].end > arrival || calls[c].end < stretch.window.from || hidden({m.view, c}))
          continue;
        stretch.window.from = calls[c].end;
        stretch.communication = CollectiveMember{m.view, c};
      }
    }
    return all;
  }

  // The accounts of the late rank and of the rank at the median.
  std::pair<Account, Account> accounts_of(const LateArrival& late) const {
    // A late call may begin when its rank's next step has begun.
    const Ns begin = std::min(begin_before(late.member), begin_before(late.median));
    const std::vector<Stretch> mine = stretches_before(late.member, begin);
    const std::vector<Stretch> peers = stretches_before(late.median, begin);
    const auto row = [&](const Stretch& s) {
      return s.communication ? matched_[s.communication->view][s.communication->call] : no_row;
    };
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (row(mine[i]) == no_row) continue;
      const auto same = std::ranges::find(peers, row(mine[i]), row);
      if (same == peers.end()) continue;
      const auto till = static_cast<std::size_t>(same - peers.begin());
      return {account_of(std::span(mine).first(i + 1)),
              account_of(std::span(peers).first(till + 1))};
    }
    return {account_of(mine), account_of(peers)};
  }

  // The communication at the begin of the last stretch does not count.
  Account account_of(std::span<const Stretch> stretches) const {
    Account account;
    for (const Stretch& s : stretches) {
      add_stretch(s, account);
      if (&s != &stretches.back()) add_communication(*s.communication, account);
    }
    return account;
  }

  void add_stretch(const Stretch& s, Account& account) const {
    const RankView& view = views_[s.next.view];
    const Ns length = s.window.to - s.window.from;
    account.begin = std::min(account.begin, s.window.from);
    const DeviceLane* lane = lane_of(view, job_.matches.call(s.next));
    if (lane == nullptr && !view.index->main_track) {
      account.unknown += length;
      return;
    }
    const DeviceUse use = lane != nullptr ? use_of(view, *lane, s.window)
                                          : host_use(view, *view.index->main_track, s.window);
    const Ns loads = std::min(loading(view, s.window), length - use.busy);
    account.loading += loads;
    account.busy += use.busy;
    account.idle += length - use.busy - loads;
    for (const auto& [name, time] : use.kernels) account.kernels[name] += time;
    const Window gap = lane != nullptr ? use.gap : s.window;
    if (gap.to - gap.from <= account.gap.to - account.gap.from) return;
    account.gap = gap;
    account.after_gap = use.after_gap;
    account.after = s.next;
  }

  void add_communication(CollectiveMember m, Account& account) const {
    const CollectiveCall& call = job_.matches.call(m);
    const CallTime& time = job_.times.by_view[m.view][m.call];
    const std::uint32_t row = matched_[m.view][m.call];
    if (!time.split || row == no_row) {
      account.unknown += call.end - call.start;
      return;
    }
    account.moved[call.kind] += transfer_of(call, time);
    if (const Ns wait = wait_of(call, time); wait > Ns{0})
      account.waited[awaited(m, job_.matches.matched[row], time)] += wait;
  }

  // The rank whose arrival ended the wait of a member.
  int awaited(CollectiveMember member, const MatchedCollective& matched,
              const CallTime& time) const {
    const auto off = [&](CollectiveMember m) {
      return m.view == member.view ? Ns::max()
                                   : std::chrono::abs(job_.matches.call(m).start - time.ready);
    };
    return views_[std::ranges::min_element(job_.matches.members_of(matched), {}, off)->view].rank;
  }

  StragglerCause more_compute(const LateArrival& late, const Account& mine,
                              const Account& peer) const {
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

  // `idled` is how much longer than at the rank at the median.
  StragglerCause without_work(const LateArrival& late, const Account& mine, Ns idled) const {
    const RankView& view = views_[late.member.view];
    const CollectiveCall& call = job_.matches.call(mine.after);
    if (lane_of(view, call) == nullptr)
      return on_host(late, *view.index->main_track, mine.gap, idled);
    const SliceId op = mine.after_gap == no_slice ? call.slice : mine.after_gap;
    const SliceId launch = view.index->launch(op);
    const Ns length = mine.gap.to - mine.gap.from;
    if (launch == no_slice) return {LateDoing::device_idle, length};
    Window gap = mine.gap;
    gap.to = std::clamp(view.trace->slices.start[index(launch)], gap.from, gap.to);
    if (gap.to == gap.from) return {LateDoing::device_late, length};
    return on_host(late, view.trace->slices.track[index(launch)], gap, idled);
  }

  StragglerCause on_host(const LateArrival& late, TrackId thread, Window window, Ns idled) const {
    const RankView& view = views_[late.member.view];
    const Ns since = view.steps[late.step].host_start;
    const Ns gap_length = window.to - window.from;
    if (!explains(gap_length, late.late)) return {LateDoing::host_work, idled};
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
    return {LateDoing::host_work, std::min(late.late, std::max(gap_length, idled)),
            std::string(many ? text.substr(word) : text)};
  }
};

// StragglerCause::what and its time.
struct NamedTime {
  std::string name;
  Ns time{};
};

// Arrivals of one rank for one sort of cause.
struct Group {
  Ns explained{};  // of the lateness
  std::vector<std::pair<Window, Ns>> amounts{};
  std::map<std::string, NamedTime> what{};
  std::set<std::optional<int>> peers{};
  std::set<std::uint32_t> steps{};
  std::vector<LateArrival> arrivals{};

  void add(const FoundCause& found, const LateArrival& arrival) {
    const StragglerCause& cause = found.cause;
    // Instances of one kernel template have names that differ only at the end. They count as one.
    constexpr std::size_t told_apart = 60;
    const bool kernel = cause.doing == LateDoing::more_compute;
    amounts.emplace_back(found.within, cause.amount);
    explained += std::min(cause.amount, arrival.late);
    NamedTime& named = what[kernel ? cause.what.substr(0, told_apart) : cause.what];
    if (named.time == Ns{0}) named.name = cause.what;
    named.time += cause.amount;
    peers.insert(cause.peer);
    steps.insert(arrival.step);
    arrivals.push_back(arrival);
  }
  // Arrivals that look back at the same time see the same cause.
  [[nodiscard]] Ns amount() {
    std::ranges::sort(amounts, {}, [](const auto& a) { return a.first.from; });
    Ns sum{};
    Ns most{};
    Ns reach = Ns::min();
    for (const auto& [within, time] : amounts) {
      if (within.from >= reach) sum += std::exchange(most, Ns{0});
      most = std::max(most, time);
      reach = std::max(reach, within.to);
    }
    return sum + most;
  }
};

}  // namespace

MatchedRows matched_rows(const CollectiveMatches& matches) {
  MatchedRows rows;
  for (const RankCalls& rank : matches.ranks) rows.emplace_back(rank.calls.size(), no_row);
  for (std::uint32_t i = 0; i < matches.matched.size(); ++i)
    for (const CollectiveMember m : matches.members_of(matches.matched[i]))
      rows[m.view][m.call] = i;
  return rows;
}

std::optional<StragglerCause> straggler_cause(std::span<const RankView> views,
                                              const Collectives& job, const MatchedRows& matched,
                                              std::span<const LateArrival> late,
                                              std::size_t steps) {
  constexpr std::size_t max_causes = 64;
  const CauseFinder finder(views, job, matched);
  Ns total{};
  for (const LateArrival& arrival : late) total += arrival.late;
  std::map<std::pair<LateDoing, std::optional<int>>, Group> groups;  // by the rank waited for, too
  Ns seen{};
  for (std::size_t i = 0; i < std::min(max_causes, late.size()) && 10 * seen < 9 * total; ++i) {
    seen += late[i].late;
    const FoundCause found = finder.find(late[i]);
    const StragglerCause& cause = found.cause;
    if (cause.doing == LateDoing::unrecorded) continue;
    const bool waits = cause.doing == LateDoing::waits_for;
    groups[{cause.doing, waits ? cause.peer : std::nullopt}].add(found, late[i]);
  }
  if (groups.empty()) return std::nullopt;
  auto& [key, group] = *std::ranges::max_element(
      groups, {}, [](const auto& entry) { return entry.second.explained; });
  if (!explains(group.explained, seen)) return std::nullopt;
  StragglerCause cause{.doing = key.first};
  cause.in_steps = group.steps.size();
  cause.steps = steps;
  cause.amount = group.amount() / static_cast<std::int64_t>(cause.in_steps);
  if (group.peers.size() == 1) cause.peer = *group.peers.begin();
  const NamedTime& most = std::ranges::max_element(group.what, {}, [](const auto& entry) {
                            return entry.second.time;
                          })->second;
  Ns named{};
  for (const auto& [name, time] : group.what) named += time.time;
  if (explains(most.time, named)) cause.what = most.name;
  if (cause.doing == LateDoing::waits_for) return cause;
  std::map<int, Ns> waits;  // of ranks, for these arrivals
  std::set<CollectiveKind> kinds;
  for (const LateArrival& arrival : group.arrivals) {
    const MatchedCollective& collective = job.matches.matched[arrival.matched];
    const Ns arrived = job.matches.call(arrival.member).start;
    kinds.insert(collective.kind);
    for (const CollectiveMember m : job.matches.members_of(collective)) {
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

}  // namespace stepscope

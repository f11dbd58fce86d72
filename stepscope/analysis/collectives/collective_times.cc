// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/collective_times.h"

#include <algorithm>
#include <cmath>

#include "stepscope/analysis/matching/collective_gates.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Accumulates the arrivals that each call waits for; a fused call waits for all of its messages.
class Timer {
 public:
  Timer(std::span<const RankView> views, const CollectiveMatches& matches)
      : views_(views), matches_(matches) {
    for (const RankCalls& rank : matches.ranks) {
      times_.emplace_back(rank.calls.size());
      peers_found_.emplace_back(rank.calls.size());
    }
  }
  std::vector<std::vector<CallTime>> run();

 private:
  void message(std::span<const CollectiveMember> members);
  void collective(const MatchedCollective& matched);

  std::span<const RankView> views_;
  const CollectiveMatches& matches_;
  std::vector<std::vector<CallTime>> times_;
  std::vector<std::vector<std::uint32_t>> peers_found_;
};

void Timer::message(std::span<const CollectiveMember> members) {
  Ns last = Ns::min();
  for (const CollectiveMember m : members) last = std::max(last, matches_.call(m).start);
  for (const CollectiveMember m : members) {
    CallTime& time = times_[m.view][m.call];
    time.ready = peers_found_[m.view][m.call]++ == 0 ? last : std::max(time.ready, last);
    time.split = peers_found_[m.view][m.call] == matches_.call(m).edge_count;
  }
}

void Timer::collective(const MatchedCollective& matched) {
  const std::vector<CollectiveGate> gates = gates_of(views_, matches_, matched);
  if (gates.empty()) return;
  const auto members = matches_.members_of(matched);
  std::vector<Ns> ready;
  for (const CollectiveMember m : members) ready.push_back(matches_.call(m).start);
  // No member leaves before the members it needs have come. A violation shows the least error of
  // the clocks, and calls shorter than that cannot be split.
  Ns error{};
  for (const CollectiveGate& gate : gates) {
    Ns last = Ns::min();
    for (const std::uint32_t i : gate.awaited)
      last = std::max(last, matches_.call(members[i]).start);
    for (const std::uint32_t i : gate.waiting) {
      ready[i] = std::max(ready[i], last);
      if (!gate.buffered) error = std::max(error, last - matches_.call(members[i]).end);
    }
  }
  Ns first_end = Ns::max();
  if (is_barrier_like(matched.kind))
    for (const CollectiveMember m : members) first_end = std::min(first_end, matches_.call(m).end);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const CollectiveCall& call = matches_.call(members[i]);
    if (call.end - call.start >= error)
      times_[members[i].view][members[i].call] = {ready[i], true, first_end};
  }
}

std::vector<std::vector<CallTime>> Timer::run() {
  for (const MatchedCollective& matched : matches_.matched) {
    if (!matched.complete) continue;
    if (matched.message) {
      message(matches_.members_of(matched));
    } else {
      collective(matched);
    }
  }
  // A group of one rank waits for nobody.
  for (std::size_t v = 0; v < matches_.ranks.size(); ++v) {
    const auto& calls = matches_.ranks[v].calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const std::uint32_t group = calls[c].group;
      if (group != no_row && matches_.groups[group].size == 1)
        times_[v][c] = {calls[c].start, true};
    }
  }
  return std::move(times_);
}

}  // namespace

Ns wait_of(const CollectiveCall& call, const CallTime& time) {
  return std::clamp(time.ready - call.start, Ns{0}, call.end - call.start);
}

Ns transfer_of(const CollectiveCall& call, const CallTime& time) {
  return std::max(Ns{0}, call.end - std::max(call.start, time.ready));
}

std::optional<Ns> end_spread(const CollectiveMatches& matches, const MatchedCollective& matched) {
  if (!matched.complete || !is_barrier_like(matched.kind)) return std::nullopt;
  Ns low = Ns::max();
  Ns high = Ns::min();
  for (const CollectiveMember m : matches.members_of(matched)) {
    low = std::min(low, matches.call(m).end);
    high = std::max(high, matches.call(m).end);
  }
  return high - low;
}

std::optional<Ns> median_time(std::span<const std::int64_t> times) {
  const auto middle = median(times);
  if (!middle) return std::nullopt;
  return Ns{std::llround(*middle)};
}

CollectiveTimes collective_times(std::span<const RankView> views,
                                 const CollectiveMatches& matches) {
  CollectiveTimes times;
  times.by_view = Timer(views, matches).run();
  std::vector<Ns> spreads;
  for (const MatchedCollective& matched : matches.matched) {
    if (const auto spread = end_spread(matches, matched)) spreads.push_back(*spread);
  }
  if (!spreads.empty()) times.clock_uncertainty = lower_median(spreads);
  return times;
}

CommSplit comm_split(const RankCalls& rank, std::span<const CallTime> times) {
  CommSplit split;
  split.spans.reserve(rank.calls.size());
  for (std::size_t c = 0; c < rank.calls.size(); ++c) {
    const CollectiveCall& call = rank.calls[c];
    const Ns ready = std::clamp(times[c].ready, call.start, call.end);
    split.spans.push_back(
        {call.slice, times[c].split ? ready : call.start, times[c].split, call.end});
  }
  std::ranges::sort(split.spans, {}, [](const CommSpan& span) { return index(span.slice); });
  return split;
}

}  // namespace stepscope

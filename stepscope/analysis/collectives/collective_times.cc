// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/collective_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/base/run_sort.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Accumulates the arrivals that each call waits for; a fused call waits for all of its messages.
class Timer {
  std::span<const RankView> views_;
  const CollectiveMatches& matches_;
  std::vector<std::vector<CallTime>> times_;
  std::vector<std::vector<std::uint32_t>> peers_found_;

 public:
  Timer(std::span<const RankView> views, const CollectiveMatches& matches)
      : views_(views), matches_(matches) {
    for (const RankCalls& rank : matches.ranks) {
      times_.emplace_back(rank.calls.size());
      peers_found_.emplace_back(rank.calls.size());
    }
  }

  std::vector<std::vector<CallTime>> run() {
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

 private:
  void message(std::span<const CollectiveMember> members) {
    Ns last = Ns::min();
    for (const CollectiveMember m : members) last = std::max(last, matches_.call(m).start);
    for (const CollectiveMember m : members) {
      CallTime& time = times_[m.view][m.call];
      time.ready = peers_found_[m.view][m.call]++ == 0 ? last : std::max(time.ready, last);
      time.split = peers_found_[m.view][m.call] == matches_.call(m).edge_count;
    }
  }

  void collective(const MatchedCollective& matched) {
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
      for (const CollectiveMember m : members)
        first_end = std::min(first_end, matches_.call(m).end);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const CollectiveCall& call = matches_.call(members[i]);
      if (call.end - call.start >= error)
        times_[members[i].view][members[i].call] = {ready[i], true, first_end};
    }
  }
};

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

namespace {

constexpr std::size_t least_waited = 8;
constexpr double usual_share = 0.9;  // of the times of messages that were waited for
constexpr double least_share = 0.25;

// The operators of one thread: when it was last inside one.
class Activity {
 public:
  Activity(const Trace& trace, const Track& track) {
    const Slices& s = trace.slices;
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (s.category[i] != Category::cpu_op) continue;
      start_.push_back(s.start[i]);
      const Ns end = s.start[i] + s.dur[i];
      last_end_.push_back(last_end_.empty() ? end : std::max(end, last_end_.back()));
    }
  }
  // At most `t`; absent before the first operator.
  [[nodiscard]] std::optional<Ns> last_before(Ns t) const {
    const auto after = std::ranges::lower_bound(start_, t);
    if (after == start_.begin()) return std::nullopt;
    return std::min(t, last_end_[static_cast<std::size_t>(after - start_.begin() - 1)]);
  }

 private:
  std::vector<Ns> start_;
  std::vector<Ns> last_end_;  // of this and earlier ones
};

struct Sent {
  CollectiveMember member;
  Ns ready{};           // the later of the two calls
  bool waited = false;  // the thread shows no operator from then until it has the message
};

// How long messages usually take; of those that were waited for, if there are enough. Else no
// message takes longer than until it is collected, and the shorter of these times count.
std::optional<Ns> usual_time(const CollectiveMatches& matches, std::span<const Sent> sent,
                             bool of_waited) {
  std::vector<double> times;
  for (const Sent& s : sent) {
    const Ns time = matches.call(s.member).end - s.ready;
    if (time > Ns{0} && (s.waited || !of_waited))
      times.push_back(static_cast<double>(time.count()));
  }
  if (times.size() < least_waited) return std::nullopt;
  const double share = of_waited ? usual_share : least_share;
  return Ns{std::llround(*quantile(times, share))};
}

}  // namespace

void settle_message_ends(std::span<const RankView> views, CollectiveMatches& matches) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Activity> threads;  // by view and track
  std::vector<Sent> sent;
  for (const MatchedCollective& m : matches.matched) {
    if (!m.complete || !m.message) continue;
    const auto members = matches.members_of(m);
    Ns ready = Ns::min();
    for (const CollectiveMember x : members) ready = std::max(ready, matches.call(x).start);
    for (const CollectiveMember x : members) {
      const CollectiveCall& call = matches.call(x);
      const RankView& view = views[x.view];
      if (!call.on_host || call.edge_count != 1) continue;
      const Activity& thread = threads
                                   .try_emplace({x.view, index(call.stream)}, *view.trace,
                                                view.trace->track(call.stream))
                                   .first->second;
      const auto last = thread.last_before(call.end);
      sent.push_back({x, ready, !last || *last <= ready});
    }
  }
  const auto of_waited = usual_time(matches, sent, true);
  const auto usual = of_waited ? of_waited : usual_time(matches, sent, false);
  if (!usual) return;
  for (const Sent& s : sent) {
    if (!of_waited && s.waited) continue;
    CollectiveCall& call = matches.ranks[s.member.view].calls[s.member.call];
    call.end = std::min(call.end, s.ready + *usual);
  }
}

namespace {

constexpr std::size_t least_runs = 3;

// The runs of one kernel and shape, ascending in ns.
struct Runs {
  NameClass kind = NameClass::other;  // of the shortest alone
  Ns shortest = Ns::max();
  std::vector<std::int64_t> alone;
  std::vector<std::int64_t> overlapped;
};
using RunsOfKernels = std::map<std::pair<StringId, StringId>, Runs>;  // by name and shape

// Shapes of operators by external id; sorted.
using Shapes = std::vector<std::pair<std::uint32_t, StringId>>;

Shapes recorded_shapes(const Trace& trace) {
  const Slices& s = trace.slices;
  Shapes shapes;
  for (std::uint32_t i = 0; trace.ops.size() > 0 && i < s.size(); ++i) {
    if (s.category[i] != Category::cpu_op || s.external_id[i] == 0 || s.detail[i] == no_row)
      continue;
    shapes.emplace_back(s.external_id[i], trace.ops.input_dims[s.detail[i]]);
  }
  run_sort(shapes, [](const auto& a, const auto& b) { return a.first < b.first; });
  return shapes;
}

StringId shape_of(const Shapes& shapes, std::uint32_t id) {
  const auto at =
      std::lower_bound(shapes.begin(), shapes.end(), id,
                       [](const auto& shape, std::uint32_t i) { return shape.first < i; });
  return id != 0 && at != shapes.end() && at->first == id ? at->second : empty_string;
}

// Runs of compute kernels that communication does not touch, or covers for at least half.
RunsOfKernels compute_runs(const Trace& trace, const DeviceLane& lane) {
  const Slices& s = trace.slices;
  std::vector<HostSpan> comm;
  for (const SliceId op : lane.ops)
    if (trace.is_communication(op)) extend(comm, s.start[index(op)], s.end(op), op);
  RunsOfKernels runs;
  const Shapes shapes = comm.empty() ? Shapes{} : recorded_shapes(trace);
  if (shapes.empty()) return runs;
  for (const SliceId op : lane.ops) {
    if (!trace.is_compute(op)) continue;
    const Ns length = s.dur[index(op)];
    Ns covered{};
    cut(
        comm, s.start[index(op)], s.end(op), [&](Ns from, Ns to, SliceId) { covered += to - from; },
        [](Ns, Ns) {});
    if (length == Ns{} || (covered > Ns{} && 2 * covered < length)) continue;
    const StringId shape = shape_of(shapes, s.external_id[index(op)]);
    if (shape == empty_string) continue;
    Runs& of = runs[{s.name[index(op)], shape}];
    if (covered == Ns{} && length < of.shortest) {
      of.shortest = length;
      of.kind = s.kind[index(op)];
    }
    (covered > Ns{} ? of.overlapped : of.alone).push_back(length.count());
  }
  for (auto& [key, of] : runs) {
    std::ranges::sort(of.alone);
    std::ranges::sort(of.overlapped);
  }
  return runs;
}

bool of_one_kind(std::span<const std::int64_t> sorted, double middle) {
  const double low = quantile_sorted(sorted, 0.1).value_or(0);
  const double high = quantile_sorted(sorted, 0.9).value_or(0);
  return high - low <= 0.5 * middle;
}

std::optional<Contention> compare(const Runs& runs) {
  if (runs.alone.size() < least_runs || runs.overlapped.size() < least_runs) return std::nullopt;
  const double middle = quantile_sorted(runs.alone, 0.5).value_or(0);
  if (middle <= 0 || !of_one_kind(runs.alone, middle)) return std::nullopt;
  const double shared = quantile_sorted(runs.overlapped, 0.5).value_or(0);
  Contention c{.name = {},
               .kind = runs.kind,
               .shape = {},
               .alone = Ns{static_cast<std::int64_t>(middle)},
               .overlapped = Ns{static_cast<std::int64_t>(shared)},
               .slowdown = shared / middle,
               .count = runs.overlapped.size()};
  c.lost = (c.overlapped - c.alone) * static_cast<std::int64_t>(c.count);
  return c;
}

}  // namespace

std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane, std::size_t most) {
  std::vector<Contention> rows;
  for (const auto& [kernel, runs] : compute_runs(trace, lane))
    if (auto row = compare(runs)) {
      row->name = trace.strings[kernel.first];
      row->shape = trace.strings[kernel.second];
      rows.push_back(*std::move(row));
    }
  // Rows are in the order in which their names were first read, which differs between readings.
  std::sort(rows.begin(), rows.end(), [](const Contention& a, const Contention& b) {
    return std::tie(b.lost, a.name, a.shape) < std::tie(a.lost, b.name, b.shape);
  });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/job_window.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace stepscope {
namespace {

std::string step_range_text(const RankWindow& w) {
  return std::string("[")
      .append(std::to_string(w.first_step))
      .append(", ")
      .append(std::to_string(w.end_step))
      .append(")");
}

std::optional<Error> not_gatherable(const JobWindow& window) {
  for (const RankWindow& rank : window.ranks)
    if (static_cast<std::int64_t>(rank.steps.size()) != rank.totals.steps)
      return Error{.what = "rank " + std::to_string(rank.rank) + " kept " +
                           std::to_string(rank.steps.size()) + " of its " +
                           std::to_string(rank.totals.steps) + " steps; ranks are joined by step",
                   .hint =
                       "take windows before the recorder's capacity is full, and gather "
                       "before folding"};
  return std::nullopt;
}

JobWindow lifted(const RankWindow& rank) {
  JobWindow window;
  if (!rank.empty()) window.ranks.push_back(rank);
  return window;
}

void add_step(JobStepTimes& step, const StepRecord& record, Ns offset) {
  const Ns begin = record.begin + offset;
  const Ns end = record.end + offset;
  if (step.ranks == 0 || begin < step.begin) step.begin = begin;
  if (step.ranks == 0 || end > step.end) step.end = end;
  step.index = record.index;
  ++step.ranks;
  step.tokens += record.tokens;
  step.model_flops += record.model_flops;
  step.executed_flops += record.executed_flops;
  step.overlapped += record.overlapped;
  step.exposed += record.exposed;
  step.skipped = step.skipped || record.skipped;
  for (std::size_t i = 0; i < activity_count; ++i) {
    step.activity_sum[i] += record.activity[i];
    step.longest[i] = std::max(step.longest[i], record.activity[i]);
  }
}

// `other` is a later stretch. Its steps are folded, so what the stretches share is taken from all
// of its time.
void add_job_totals(JobTotals& sum, const JobTotals& other) {
  if (other.steps == 0) return;
  const Ns shared = sum.steps == 0 ? Ns{} : std::clamp(sum.end - other.begin, Ns{}, other.wall);
  const double kept = other.wall > Ns{} ? 1 - seconds(shared) / seconds(other.wall) : 1;
  const auto part = [&](Ns time) {
    return Ns{std::llround(kept * static_cast<double>(time.count()))};
  };
  if (sum.steps == 0) sum.begin = other.begin;
  sum.end = sum.steps == 0 ? other.end : std::max(sum.end, other.end);
  sum.steps += other.steps;
  sum.wall += other.wall - shared;
  sum.committed_wall += part(other.committed_wall);
  sum.device_wall += part(other.device_wall);
  sum.tokens += other.tokens;
  sum.model_flops += other.model_flops;
  sum.executed_flops += other.executed_flops;
  for (std::size_t i = 0; i < activity_count; ++i) sum.longest[i] += other.longest[i];
  sum.step_wall.merge(other.step_wall);
}

// The steps of a job's ranks overlap in time: a gap between two ranks is one of their clocks.
std::optional<Error> never_at_once(const std::vector<RankWindow>& ranks) {
  const auto begin = [](const RankWindow& rank) { return rank.begin + rank.clock_offset; };
  const auto end = [](const RankWindow& rank) { return rank.end + rank.clock_offset; };
  const RankWindow& last = std::ranges::max(ranks, {}, begin);
  const RankWindow& first = std::ranges::min(ranks, {}, end);
  const Ns gap = begin(last) - end(first);
  if (gap <= Ns{}) return std::nullopt;
  return Error{
      .what = "rank " + std::to_string(last.rank) + " begins steps " + step_range_text(last) + " " +
              std::to_string(gap.count()) + " ns after rank " + std::to_string(first.rank) +
              " has ended them",
      .hint = "hosts count their time from other instants: give each rank its clock offset"};
}

using CollectiveKey = std::tuple<std::string_view, CollectiveKind, CollectivePurpose>;

// The waits of the calls whose last arrival the rank itself did not know, if the arrivals of all
// members are here.
std::map<CollectiveKey, CollectiveTotals> waits_by_arrivals(const JobWindow& window) {
  std::map<CollectiveKey, CollectiveTotals> found;
  for (const auto& [call, members] : matched_arrivals(window)) {
    const auto offset = [&](const RankArrival& m) { return window.ranks[m.row].clock_offset; };
    const auto group = [&](const RankArrival& m) -> const CollectiveGroup& {
      return window.ranks[m.row].groups[m.call->group];
    };
    if (std::ssize(members) != group(members.front()).size) continue;
    Ns last = Ns::min();
    for (const RankArrival& m : members) last = std::max(last, m.call->submitted + offset(m));
    for (const RankArrival& m : members) {
      const Arrival& own = *m.call;
      if (own.timed) continue;
      const Ns end = std::max(own.submitted, own.finished);
      const Ns arrival = std::clamp(last - offset(m), own.submitted, end);
      add_totals(found[{group(m).name, own.kind, own.purpose}],
                 {.timed_calls = 1,
                  .transfer = end - arrival,
                  .peer_wait = arrival - own.submitted,
                  .peer_stall = peer_stall(arrival, end, own.stall)});
    }
  }
  return found;
}

template <class Value>
std::optional<OverRanks> distribution(const JobWindow& window, const Value& value) {
  if (window.ranks.empty()) return std::nullopt;
  OverRanks out;
  const auto n = static_cast<double>(window.ranks.size());
  for (std::size_t i = 0; i < window.ranks.size(); ++i) {
    const double x = static_cast<double>(value(window.ranks[i]).count());
    out.sum += x;
    if (i == 0 || x < out.min) std::tie(out.min, out.min_rank) = std::pair(x, window.ranks[i].rank);
    if (i == 0 || x > out.max) std::tie(out.max, out.max_rank) = std::pair(x, window.ranks[i].rank);
  }
  out.mean = out.sum / n;
  double squares = 0;
  for (const RankWindow& rank : window.ranks) {
    const double d = static_cast<double>(value(rank).count()) - out.mean;
    squares += d * d;
  }
  out.stdev = std::sqrt(squares / n);
  return out;
}

}  // namespace

Result<JobWindow> gather(const JobWindow& a, const JobWindow& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  if (auto error = not_gatherable(a)) return *error;
  if (auto error = not_gatherable(b)) return *error;
  const RankWindow& one = a.ranks.front();
  JobWindow both;
  both.ranks.reserve(a.ranks.size() + b.ranks.size());
  std::ranges::merge(a.ranks, b.ranks, std::back_inserter(both.ranks), {}, &RankWindow::rank,
                     &RankWindow::rank);
  for (std::size_t i = 0; i < both.ranks.size(); ++i) {
    const RankWindow& rank = both.ranks[i];
    if (i > 0 && both.ranks[i - 1].rank == rank.rank)
      return Error{.what = "rank " + std::to_string(rank.rank) + " comes twice, with steps " +
                           step_range_text(both.ranks[i - 1]) + " and " + step_range_text(rank) +
                           "; its time would count twice",
                   .hint = "concat() appends a later window of the same rank"};
    if (rank.first_step != one.first_step || rank.end_step != one.end_step ||
        rank.totals.steps != one.totals.steps)
      return Error{.what = "rank " + std::to_string(rank.rank) + " has steps " +
                           step_range_text(rank) + ", rank " + std::to_string(one.rank) + " has " +
                           step_range_text(one),
                   .hint = "gather windows of the same steps"};
    if (rank.world != one.world)
      return Error{.what = "rank " + std::to_string(rank.rank) + " is one of " +
                           std::to_string(rank.world) + ", rank " + std::to_string(one.rank) +
                           " one of " + std::to_string(one.world),
                   .hint = "these windows are of two jobs"};
  }
  if (one.totals.steps > 0)
    if (auto error = never_at_once(both.ranks)) return *error;
  return both;
}

Result<JobWindow> gather(std::span<const RankWindow> ranks) {
  JobWindow all;
  for (const RankWindow& rank : ranks) {
    auto joined = gather(all, lifted(rank));
    if (!joined) return joined;
    all = std::move(*joined);
  }
  return all;
}

Result<Done> append(JobWindow& earlier, const JobWindow& later) {
  if (later.empty()) return Done{};
  if (earlier.empty()) {
    earlier = later;
    return Done{};
  }
  if (!std::ranges::equal(earlier.ranks, later.ranks, {}, &RankWindow::rank, &RankWindow::rank))
    return Error{.what = "the later window has other ranks than the earlier one",
                 .hint = "gather all ranks of a stretch before appending it"};
  for (std::size_t i = 0; i < earlier.ranks.size(); ++i)
    if (auto done = append(earlier.ranks[i], later.ranks[i]); !done) return done;
  add_job_totals(earlier.folded, later.folded);
  return Done{};
}

Result<JobWindow> concat(const JobWindow& earlier, const JobWindow& later) {
  JobWindow both = earlier;
  if (auto done = append(both, later); !done) return done.error();
  return both;
}

std::vector<JobStepTimes> job_steps(const JobWindow& window) {
  std::map<std::int64_t, JobStepTimes> steps;
  for (const RankWindow& rank : window.ranks)
    for (const StepRecord& record : rank.steps)
      add_step(steps[record.index], record, rank.clock_offset);
  std::vector<JobStepTimes> out;
  out.reserve(steps.size());
  Ns covered = window.folded.steps > 0 ? window.folded.end : Ns::min();
  for (const auto& [index, step] : steps) {
    out.push_back(step);
    out.back().added = std::max(step.end - std::max(step.begin, covered), Ns{});
    covered = std::max(covered, step.end);
  }
  return out;
}

JobTotals job_totals(const JobWindow& window) {
  JobTotals sum = window.folded;
  for (const JobStepTimes& step : job_steps(window)) {
    sum.begin = sum.steps == 0 ? step.begin : std::min(sum.begin, step.begin);
    sum.end = sum.steps == 0 ? step.end : std::max(sum.end, step.end);
    ++sum.steps;
    sum.wall += step.added;
    if (!step.skipped) sum.committed_wall += step.added;
    sum.device_wall += step.added * step.ranks;
    sum.tokens += step.tokens;
    sum.model_flops += step.model_flops;
    sum.executed_flops += step.executed_flops;
    for (std::size_t i = 0; i < activity_count; ++i) sum.longest[i] += step.longest[i];
    sum.step_wall.add(static_cast<double>((step.end - step.begin).count()));
  }
  return sum;
}

void fold_steps(JobWindow& window) {
  window.folded = job_totals(window);
  for (RankWindow& rank : window.ranks) {
    rank.steps.clear();
    rank.arrivals.clear();
  }
}

std::optional<OverRanks> over_ranks(const JobWindow& window, Activity activity) {
  return distribution(window,
                      [&](const RankWindow& rank) { return rank.totals.activity[slot(activity)]; });
}

std::optional<OverRanks> compute_over_ranks(const JobWindow& window) {
  return distribution(window,
                      [](const RankWindow& rank) { return computing_time(rank.totals.activity); });
}

std::optional<double> imbalance(const JobWindow& window) {
  const auto compute = compute_over_ranks(window);
  if (!compute || compute->mean <= 0) return std::nullopt;
  return compute->max / compute->mean - 1;
}

MatchedArrivals matched_arrivals(const JobWindow& window) {
  MatchedArrivals calls;
  for (std::size_t row = 0; row < window.ranks.size(); ++row)
    for (const Arrival& call : window.ranks[row].arrivals)
      if (!is_message(call.kind))
        calls[{window.ranks[row].groups[call.group].name, call.sequence}].push_back({row, &call});
  return calls;
}

std::vector<JobCollective> job_collectives(const JobWindow& window) {
  std::map<CollectiveKey, JobCollective> found;
  bool all_timed = true;
  for (const RankWindow& rank : window.ranks) {
    for (const CollectiveTotals& calls : rank.collectives) {
      const CollectiveGroup& group = rank.groups[calls.group];
      JobCollective& job = found[{group.name, calls.kind, calls.purpose}];
      job.group = group;
      job.kind = job.sum.kind = calls.kind;
      job.purpose = job.sum.purpose = calls.purpose;
      add_totals(job.sum, calls);
      all_timed = all_timed && calls.timed_calls == calls.calls;
      job.unique = is_message(calls.kind) ? job.sum.calls : std::max(job.unique, calls.calls);
      if (group.several)
        job.unique = std::max(job.unique, job.sum.calls / static_cast<std::uint64_t>(group.size));
      job.most_bytes = std::max(job.most_bytes, calls.bytes);
    }
  }
  if (!all_timed) {
    for (const auto& [key, waits] : waits_by_arrivals(window)) {
      const auto at = found.find(key);
      if (at == found.end()) continue;
      CollectiveTotals& sum = at->second.sum;
      if (sum.timed_calls + waits.timed_calls != sum.calls) continue;
      add_totals(sum, waits);
      sum.timed_bytes = sum.bytes;
    }
  }
  std::vector<JobCollective> out;
  out.reserve(found.size());
  for (auto& [key, job] : found) out.push_back(std::move(job));
  return out;
}

std::vector<JobLayer> job_layers(const JobWindow& window) {
  std::vector<JobLayer> out;
  std::vector<Durations> runs;  // of any kind, by layer
  for (const RankWindow& rank : window.ranks) {
    for (const LayerTotals& layer : rank.layers) {
      Durations of_rank = layer.forward;
      of_rank.merge(layer.backward);
      of_rank.merge(layer.recompute);
      if (of_rank.count == 0) continue;
      auto at = std::ranges::find(out, layer.name, &JobLayer::name);
      if (at == out.end()) {
        at = out.insert(at,
                        {.name = layer.name, .slowest_rank = rank.rank, .fastest_rank = rank.rank});
        runs.emplace_back();
      }
      at->forward.merge(layer.forward);
      at->backward.merge(layer.backward);
      at->recompute.merge(layer.recompute);
      Durations& all = runs[static_cast<std::size_t>(at - out.begin())];
      if (all.count > 0 && of_rank.max > all.max) at->slowest_rank = rank.rank;
      if (all.count > 0 && of_rank.min < all.min) at->fastest_rank = rank.rank;
      all.merge(of_rank);
    }
  }
  return out;
}

}  // namespace stepscope

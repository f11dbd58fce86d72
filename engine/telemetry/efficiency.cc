// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/efficiency.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

std::optional<double> ratio(double numerator, double denominator) {
  return denominator > 0 ? std::optional(numerator / denominator) : std::nullopt;
}
double as_seconds(Ns t) { return seconds(t).count(); }
double value(Bytes b) { return static_cast<double>(b.value); }

std::optional<Ns> quantile_ns(const QuantileSketch& sketch, double q) {
  const auto x = sketch.quantile(q);
  return x ? std::optional(Ns{std::llround(*x)}) : std::nullopt;
}

double reference_seconds(const LinkReference& link, std::uint64_t calls, Bytes bytes) {
  return static_cast<double>(calls) * link.start.count() + value(bytes) / link.rate.value;
}

// Sum over ranks.
template <class Term>
double over(const JobWindow& window, const Term& term) {
  double total = 0;
  for (const RankWindow& rank : window.ranks) total += term(rank);
  return total;
}

double activity_seconds(const JobWindow& window, Activity activity) {
  return over(window, [&](const RankWindow& rank) {
    return as_seconds(rank.totals.activity[slot(activity)]);
  });
}
ExposedTime exposed_time(const JobWindow& window) {
  ExposedTime sum;
  for (const RankWindow& rank : window.ranks) sum += rank.totals.exposed;
  return sum;
}

std::optional<double> pass_rate(const JobWindow& window, TrainingPass pass) {
  double items = 0;
  double time = 0;
  double ranks = 0;
  for (const RankWindow& rank : window.ranks) {
    const PassTotals& totals = rank.totals.passes[slot(pass)];
    if (totals.items == 0) continue;
    items += static_cast<double>(totals.items);
    time += as_seconds(totals.time.total);
    ++ranks;
  }
  return ratio(items * ranks, time);
}

std::optional<double> rate_of(const std::vector<JobStepTimes>& steps, std::size_t first,
                              std::size_t end) {
  double tokens = 0;
  Ns wall{};
  for (std::size_t i = first; i < end; ++i) {
    tokens += static_cast<double>(steps[i].tokens);
    wall += i == first ? steps[i].end - steps[i].begin : steps[i].added;
  }
  return ratio(tokens, as_seconds(wall));
}

void add_recent(ThroughputMetrics& out, const std::vector<JobStepTimes>& steps,
                const ThroughputOptions& options) {
  if (steps.empty()) return;
  std::size_t first = steps.size() - std::min(options.rolling_steps, steps.size());
  if (options.rolling_time) {
    first = steps.size();
    while (first > 0 && seconds(steps.back().end - steps[first - 1].end) <= *options.rolling_time)
      --first;
  }
  out.rolling_tokens_per_second = rate_of(steps, first, steps.size());
  DecayedRatio decayed{.tau = options.decay.count()};
  for (const JobStepTimes& step : steps)
    decayed.add(as_seconds(step.end - steps.front().begin), static_cast<double>(step.tokens),
                as_seconds(step.added));
  out.decayed_tokens_per_second = decayed.value();
  constexpr std::size_t row = 10;
  for (std::size_t i = options.warm_up_steps; i + row <= steps.size(); ++i) {
    const auto rate = rate_of(steps, i, i + row);
    if (rate && (!out.peak_tokens_per_second || *rate > *out.peak_tokens_per_second))
      out.peak_tokens_per_second = rate;
  }
}

const LinkReference* reference_of(const ReferenceRates& references, const JobCollective& calls) {
  for (const CollectiveReference& reference : references.collectives)
    if (reference.kind == calls.kind && reference.group == calls.group.name) return &reference.link;
  return nullptr;
}

}  // namespace

ThroughputMetrics throughput(const JobWindow& window, const ThroughputOptions& options) {
  const JobTotals totals = job_totals(window);
  ThroughputMetrics out{.steps = totals.steps, .tokens = totals.tokens, .wall = totals.wall};
  const auto tokens = static_cast<double>(totals.tokens);
  if (totals.tokens > 0) {
    out.tokens_per_second = ratio(tokens, as_seconds(totals.wall));
    out.tokens_per_second_per_rank = ratio(tokens, as_seconds(totals.device_wall));
    add_recent(out, job_steps(window), options);
  }
  out.forward_tokens_per_second = pass_rate(window, TrainingPass::forward);
  out.backward_tokens_per_second = pass_rate(window, TrainingPass::backward);
  out.step_p50 = quantile_ns(totals.step_wall, 0.5);
  out.step_p90 = quantile_ns(totals.step_wall, 0.9);
  out.step_p99 = quantile_ns(totals.step_wall, 0.99);
  return out;
}

MemoryTransferMetrics memory_transfers(const JobWindow& window, const ReferenceRates& references) {
  MemoryTransferMetrics out;
  double busy = 0;
  double expected = 0;
  double measured = 0;
  for (std::size_t d = 0; d < transfer_direction_count; ++d) {
    TransferLinkStats link{.direction = static_cast<TransferDirection>(d)};
    for (const RankWindow& rank : window.ranks) add_totals(link.sum, rank.totals.transfers[d]);
    if (link.sum.calls == 0) continue;
    const double time = as_seconds(link.sum.busy);
    link.gb_per_s = ratio(value(link.sum.bytes) / 1e9, time);
    if (const auto& reference = references.transfers[d]) {
      const double wanted = reference_seconds(*reference, link.sum.calls, link.sum.bytes);
      link.efficiency = ratio(wanted, time);
      expected += wanted;
      measured += time;
    }
    out.bytes += link.sum.bytes;
    busy += time;
    out.links.push_back(link);
  }
  out.gb_per_s = ratio(value(out.bytes) / 1e9, busy);
  out.efficiency = ratio(expected, measured);
  return out;
}

CommunicationStats communication(const JobWindow& window, const ReferenceRates& references) {
  CommunicationStats out;
  double expected = 0;
  double transfer = 0;
  double expected_all = 0;
  double time_all = 0;
  for (JobCollective& calls : job_collectives(window)) {
    const CollectiveTotals& sum = calls.sum;
    CollectiveKindStats kind;
    const double moved = as_seconds(sum.transfer);
    const Bytes timed = calls.timed_bus_bytes();
    if (timed.value > 0) kind.busbw_gb_per_s = ratio(value(timed) / 1e9, moved);
    if (const LinkReference* link = reference_of(references, calls)) {
      const double wanted = reference_seconds(*link, sum.timed_calls, timed);
      if (sum.timed_calls > 0) kind.efficiency = ratio(wanted, moved);
      expected += wanted;
      transfer += moved;
      expected_all += reference_seconds(*link, sum.calls, calls.bus_bytes());
      time_all += as_seconds(sum.time);
    }
    kind.p50 = quantile_ns(sum.durations, 0.5);
    kind.p99 = quantile_ns(sum.durations, 0.99);
    out.operations += calls.unique;
    out.bytes += calls.bus_bytes();
    kind.calls = std::move(calls);
    out.kinds.push_back(std::move(kind));
  }
  out.efficiency = ratio(expected, transfer);
  out.efficiency_with_waiting = ratio(expected_all, time_all);
  const auto stall_of = [](const RankWindow& rank) {
    Ns total{};
    for (const CollectiveTotals& calls : rank.collectives) total += calls.stall;
    return total;
  };
  const double stall =
      over(window, [&](const RankWindow& rank) { return as_seconds(stall_of(rank)); });
  // Waits of one thread do not overlap, so calls are in flight at least as long as it waits. Calls
  // that are reported together, after all of them, cover less.
  const double in_flight = over(window, [&](const RankWindow& rank) {
    return as_seconds(std::max(rank.totals.comm_in_flight, stall_of(rank)));
  });
  if (in_flight > 0) out.overlap_efficiency = 1 - stall / in_flight;
  const double wall =
      over(window, [](const RankWindow& rank) { return as_seconds(rank.totals.wall); });
  out.exposed_share = ratio(as_seconds(exposed_time(window).sum()), wall);
  return out;
}

namespace {

void add_prefetch(OptimizationEfficiency& out, const JobWindow& window) {
  std::array<PrefetchTotals, prefetch_outcome_count> sums{};
  for (const RankWindow& rank : window.ranks)
    for (std::size_t i = 0; i < prefetch_outcome_count; ++i)
      add_totals(sums[i], rank.totals.prefetch[i]);
  Bytes needed{};
  Ns stall{};
  Ns service{};
  for (const PrefetchOutcome outcome :
       {PrefetchOutcome::hit, PrefetchOutcome::late, PrefetchOutcome::miss}) {
    needed += sums[slot(outcome)].bytes;
    stall += sums[slot(outcome)].stall;
    service += sums[slot(outcome)].service;
  }
  out.prefetch_hit_rate = ratio(value(sums[slot(PrefetchOutcome::hit)].bytes), value(needed));
  if (service > Ns{}) out.prefetch_hidden = 1 - as_seconds(stall) / as_seconds(service);
  out.prefetch_wasted = sums[slot(PrefetchOutcome::wasted)].bytes;
}

void add_terms(OptimizationEfficiency& out, const JobWindow& window, const JobTotals& totals,
               FlopRate peak) {
  const double all = as_seconds(totals.device_wall);
  if (!(all > 0) || !(peak.value > 0)) return;
  const double model = totals.model_flops.value / peak.value;
  const double executed = totals.executed_flops.value / peak.value;
  out.mfu = model / all;
  out.hfu = executed / all;
  const double compute = over(window, [](const RankWindow& rank) {
    return as_seconds(computing_time(rank.totals.activity));
  });
  out.references_too_low = executed > compute;
  const ExposedTime exposed = exposed_time(window);
  const double rank_walls =
      over(window, [](const RankWindow& rank) { return as_seconds(rank.totals.wall); });
  const auto add = [&](std::string_view name, double device_seconds) {
    out.terms.push_back({name, device_seconds / all});
  };
  add("mfu", model);
  add("recompute", executed - model);
  add("kernel_loss", compute - executed);
  add("exposed_communication", as_seconds(exposed.transfer + exposed.unsplit));
  add("peer_wait", as_seconds(exposed.wait));
  add("step_skew", all - rank_walls);
  const auto rest = [&](Activity activity, Ns communicating) {
    return activity_seconds(window, activity) - as_seconds(communicating);
  };
  add("transfers", rest(Activity::wait_transfer, exposed.during_transfer));
  add("io", rest(Activity::wait_io, exposed.during_io));
  add("data", activity_seconds(window, Activity::data));
  add("other", rest(Activity::other, exposed.during_other));
}

}  // namespace

OptimizationEfficiency optimization_efficiency(const JobWindow& window,
                                               const ReferenceRates& references) {
  OptimizationEfficiency out;
  const JobTotals totals = job_totals(window);
  if (references.peak && totals.model_flops.value > 0)
    add_terms(out, window, totals, *references.peak);
  if (std::ranges::none_of(window.ranks, &RankWindow::by_hand))
    out.goodput = ratio(as_seconds(totals.committed_wall), as_seconds(totals.wall));
  add_prefetch(out, window);
  out.imbalance = imbalance(window);
  return out;
}

}  // namespace stepscope

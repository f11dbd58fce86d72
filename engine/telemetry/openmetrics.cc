// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/openmetrics.h"

#include <array>

#include "engine/telemetry/straggler.h"
#include "stepscope/metrics/metric_text.h"

namespace stepscope {
namespace {

double in_seconds(Ns t) { return seconds(t).count(); }

void run_families(MetricText& out, const JobWindow& run, const JobTotals& totals) {
  const std::string world = std::to_string(run.empty() ? 0 : run.ranks.front().world);
  const std::string gathered = std::to_string(run.ranks.size());
  out.family("stepscope_job", MetricType::info, "", "The job whose ranks are gathered here.");
  out.sample("_info", std::array{MetricLabel{"world", world}, MetricLabel{"ranks", gathered}},
             std::int64_t{1});
  out.family("stepscope_steps", MetricType::counter, "", "Training steps that ended.");
  out.sample("_total", {}, totals.steps);
  out.family("stepscope_tokens", MetricType::counter, "", "Tokens trained on, by all ranks.");
  out.sample("_total", {}, totals.tokens);
  out.family("stepscope_model_flops", MetricType::counter, "",
             "FLOPs of the model, without recomputation, by all ranks.");
  out.sample("_total", {}, totals.model_flops.value);
  out.family("stepscope_wall_seconds", MetricType::counter, "seconds",
             "Wall time that at least one rank's step covers.");
  out.sample("_total", {}, in_seconds(totals.wall));
  out.family("stepscope_committed_wall_seconds", MetricType::counter, "seconds",
             "Wall time of steps whose update no rank skipped.");
  out.sample("_total", {}, in_seconds(totals.committed_wall));
}

void step_histogram(MetricText& out, const QuantileSketch& walls) {
  out.family("stepscope_step_seconds", MetricType::histogram, "seconds",
             "Wall time of a step of the job.");
  constexpr std::array bounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,   0.2,   0.5,
                                 1.0,   2.0,   5.0,   10.0, 20.0, 50.0, 100.0, 200.0, 500.0};
  for (const double bound : bounds)
    out.sample("_bucket", std::array{MetricLabel{"le", metric_number(bound, true)}},
               walls.count_up_to(bound * 1e9));
  out.sample("_bucket", std::array{MetricLabel{"le", "+Inf"}}, walls.count());
  out.sample("_count", {}, walls.count());
  out.sample("_sum", {}, walls.sum() / 1e9);
}

template <class Value>
void memory_family(MetricText& out, const JobWindow& run, const Value& value) {
  for (const RankWindow& rank : run.ranks) {
    const std::string number = std::to_string(rank.rank);
    for (std::size_t i = 0; i < memory_class_count; ++i)
      if (rank.totals.memory[i].peak.value > 0)
        out.sample(
            "",
            std::array{MetricLabel{"rank", number}, MetricLabel{"class", memory_class_names[i]}},
            value(rank.totals.memory[i]));
  }
}

void rank_families(MetricText& out, const JobWindow& run) {
  out.family("stepscope_activity_seconds", MetricType::counter, "seconds",
             "What the main thread of a rank did; sums to the rank's wall time.");
  for (const RankWindow& rank : run.ranks) {
    const std::string number = std::to_string(rank.rank);
    for (std::size_t i = 0; i < activity_count; ++i)
      out.sample(
          "_total",
          std::array{MetricLabel{"rank", number}, MetricLabel{"activity", activity_names[i]}},
          in_seconds(rank.totals.activity[i]));
  }
  out.family("stepscope_exposed_communication_seconds", MetricType::counter, "seconds",
             "Time of a rank with communication that no computing hides, by state.");
  for (const RankWindow& rank : run.ranks) {
    const std::string number = std::to_string(rank.rank);
    const auto state = [&](std::string_view name, Ns time) {
      out.sample("_total", std::array{MetricLabel{"rank", number}, MetricLabel{"state", name}},
                 in_seconds(time));
    };
    state("transfer", rank.totals.exposed.transfer);
    state("wait", rank.totals.exposed.wait);
    state("unsplit", rank.totals.exposed.unsplit);
  }
  out.family("stepscope_memory_bytes", MetricType::gauge, "bytes", "Memory that a rank holds.");
  memory_family(out, run, [](const MemoryTotals& m) { return m.current.value; });
  out.family("stepscope_memory_peak_bytes", MetricType::gauge, "bytes",
             "Most memory that a rank held.");
  memory_family(out, run, [](const MemoryTotals& m) { return m.peak.value; });
}

void transfer_families(MetricText& out, const MemoryTransferMetrics& transfers) {
  if (transfers.links.empty()) return;
  const auto labels = [](const TransferLinkStats& link) {
    return std::array{MetricLabel{"direction", transfer_direction_names[slot(link.direction)]}};
  };
  out.family("stepscope_transfer_bytes", MetricType::counter, "bytes",
             "Moved between host, device and NVMe, by all ranks.");
  for (const auto& link : transfers.links) out.sample("_total", labels(link), link.sum.bytes.value);
  out.family("stepscope_transfer_seconds", MetricType::counter, "seconds",
             "Durations of these transfers, summed over ranks.");
  for (const auto& link : transfers.links)
    out.sample("_total", labels(link), in_seconds(link.sum.time));
}

std::array<MetricLabel, 3> labels_of(const JobCollective& calls) {
  return {MetricLabel{"group", calls.group.name},
          MetricLabel{"kind", collective_kind_names[slot(calls.kind)]},
          MetricLabel{"purpose", collective_purpose_names[slot(calls.purpose)]}};
}

void collective_summary(MetricText& out, const CommunicationStats& communication) {
  out.family("stepscope_collective_seconds", MetricType::summary, "seconds",
             "A call, from submission to its end, of any rank.");
  for (const CollectiveKindStats& kind : communication.kinds) {
    const auto labels = labels_of(kind.calls);
    const QuantileSketch& durations = kind.calls.sum.durations;
    for (const double q : {0.5, 0.9, 0.99}) {
      const std::string text = metric_number(q, true);
      if (const auto value = durations.quantile(q))
        out.sample("", std::array{labels[0], labels[1], labels[2], MetricLabel{"quantile", text}},
                   *value / 1e9);
    }
    out.sample("_count", labels, durations.count());
    out.sample("_sum", labels, durations.sum() / 1e9);
  }
}

// One family per figure, one sample per collective.
void collective_families(MetricText& out, const CommunicationStats& communication) {
  if (communication.kinds.empty()) return;
  const auto counter = [&](std::string_view name, std::string_view unit, std::string_view help,
                           const auto& value) {
    out.family(name, MetricType::counter, unit, help);
    for (const CollectiveKindStats& kind : communication.kinds)
      out.sample("_total", labels_of(kind.calls), value(kind.calls));
  };
  counter("stepscope_collectives", "", "Collectives, each once for all its members.",
          [](const JobCollective& c) { return c.unique; });
  counter("stepscope_collective_bus_bytes", "bytes",
          "Bus bytes (message size times the factor of nccl-tests), summed over ranks.",
          [](const JobCollective& c) { return c.bus_bytes().value; });
  counter("stepscope_collective_wait_seconds", "seconds",
          "From a rank's call to the last rank's, summed over ranks, where that is known.",
          [](const JobCollective& c) { return in_seconds(c.sum.peer_wait); });
  counter("stepscope_collective_transfer_seconds", "seconds",
          "From the last rank's call to the end, summed over ranks, where that is known.",
          [](const JobCollective& c) { return in_seconds(c.sum.transfer); });
  counter("stepscope_collective_stall_seconds", "seconds",
          "That main threads waited for collectives, summed over ranks.",
          [](const JobCollective& c) { return in_seconds(c.sum.stall); });
  collective_summary(out, communication);
}

void late_family(MetricText& out, const JobWindow& recent) {
  const auto late = late_ranks(recent);
  if (late.empty()) return;
  out.family("stepscope_late_seconds", MetricType::gauge, "seconds",
             "Lateness behind the median, summed over a step's collectives, mean over steps.");
  for (const PersistentStraggler& straggler : late) {
    const std::string rank = std::to_string(straggler.rank);
    out.sample("",
               std::array{MetricLabel{"rank", rank},
                          MetricLabel{"persistent", straggler.persistent ? "true" : "false"}},
               in_seconds(straggler.late));
  }
}

void present_families(MetricText& out, const JobWindow& recent, const ReferenceRates& references) {
  const auto gauge = [&](std::string_view name, std::string_view unit, std::string_view help,
                         const std::optional<double>& value) {
    if (!value) return;
    out.family(name, MetricType::gauge, unit, help);
    out.sample("", {}, *value);
  };
  const ThroughputMetrics rates = throughput(recent);
  const CommunicationStats comm = communication(recent, references);
  const OptimizationEfficiency efficiency = optimization_efficiency(recent, references);
  gauge("stepscope_tokens_per_second", "", "Tokens of all ranks over wall time, of late.",
        rates.tokens_per_second);
  gauge("stepscope_mfu_ratio", "ratio", "Model FLOPs over ranks x measured peak x wall time.",
        efficiency.mfu);
  gauge("stepscope_hfu_ratio", "ratio", "The same with recomputation.", efficiency.hfu);
  gauge("stepscope_exposed_communication_ratio", "ratio",
        "Share of wall time with communication that no computing hides.", comm.exposed_share);
  gauge("stepscope_overlap_ratio", "ratio",
        "One less the stalls over the time with a collective under way.", comm.overlap_efficiency);
  gauge("stepscope_communication_efficiency_ratio", "ratio",
        "Time that the measured links should take over the time that transfers took.",
        comm.efficiency);
  gauge("stepscope_prefetch_hit_ratio", "ratio", "Needed bytes that were there without a stall.",
        efficiency.prefetch_hit_rate);
  gauge("stepscope_compute_imbalance_ratio", "ratio",
        "Longest over mean compute time of a rank, less one.", efficiency.imbalance);
  if (!efficiency.terms.empty()) {
    out.family("stepscope_mfu_budget_ratio", MetricType::gauge, "ratio",
               "Where the peak goes; the terms sum to 1.");
    for (const EfficiencyTerm& term : efficiency.terms)
      out.sample("", std::array{MetricLabel{"term", term.name}}, term.share);
  }
  late_family(out, recent);
}

}  // namespace

std::string openmetrics(const JobWindow& run, const MetricsContext& context) {
  MetricText out;
  const JobTotals totals = job_totals(run);
  run_families(out, run, totals);
  step_histogram(out, totals.step_wall);
  rank_families(out, run);
  transfer_families(out, memory_transfers(run, context.references));
  collective_families(out, communication(run, context.references));
  present_families(out, context.recent == nullptr ? run : *context.recent, context.references);
  for (const ExtraGauge& gauge : context.gauges) {
    out.family("stepscope_" + gauge.name, MetricType::gauge, gauge.unit, gauge.help);
    out.sample("", {}, gauge.value);
  }
  return out.finish();
}

}  // namespace stepscope

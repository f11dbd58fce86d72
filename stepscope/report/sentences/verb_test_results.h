// SPDX-License-Identifier: Apache-2.0
// Results of verbs by hand for tests of how they are shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/fit/calibration.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/pipeline/check.h"
#include "stepscope/pipeline/compare.h"
#include "stepscope/pipeline/hang.h"
#include "stepscope/pipeline/plan.h"
#include "stepscope/pipeline/predict.h"
#include "stepscope/pipeline/predict_collective.h"
#include "stepscope/pipeline/stacks.h"

namespace stepscope {

namespace test {

struct ExpectedRun {
  ExpectedRun() : made({{{BudgetCategory::compute, 80}, {BudgetCategory::idle_host, 20}}}) {
    made.rank(0).phases.steps.resize(1);
    Expectation& e = made.report.expected.emplace();
    e.machine = "H100-80GB SXM";
    StepComparison& step = e.step.emplace();
    step.model = "gpt";
    step.machine = e.machine;
    step.expected = 0.06;
    step.measured = 0.1;
    step.classes = {
        {.kind = StepClass::host, .expected = 1e-9, .recompute = 0, .measured = 0.02},
        {.kind = StepClass::matmul, .expected = 0.04, .recompute = 0.01, .measured = 0.055},
        {.kind = StepClass::norm, .expected = 0.001, .recompute = 0, .measured = 0.008},
        {.kind = StepClass::wait, .expected = 0, .recompute = 0, .measured = 0.002},
        {.kind = StepClass::elementwise, .expected = 0.009, .recompute = 0, .measured = 0.006},
        {.kind = StepClass::attention, .expected = 0.01, .recompute = 0, .measured = 0.009}};
    step.ranks = {{.rank = 0, .measured = {}}};
    OperatorRow row;
    row.name = made.name("aten::mm");
    row.dims = made.name("[[32, 64], [64, 128], []]");
    row.kind = NameClass::matmul;
    row.device_calls = 3;
    made.rank(0).operators.push_back(row);
    ExpectedOperators& operators = e.ranks.emplace_back();
    operators.classes = {
        {.kind = NameClass::matmul, .expected = 0.02, .measured = 0.03, .unknown = 0.001},
        {.kind = NameClass::attention, .expected = 0, .measured = 0, .unknown = 0.004}};
    operators.operators = {{made.rank(0).operators.data(), 0.02, 0.03}};
    collective.kind = CollectiveKind::all_reduce;
    collective.dimension = Dimension::dp;
    collective.group_size = 8;
    collective.bytes = Bytes{1'000'000};
    e.collectives = {
        {.row = &collective, .expected = 0.001, .measured = 0.0025, .calls = 7, .with_wait = true}};
    e.assumptions = {"compute.units = 132, as its peak"};
  }

  TestReport made;
  CollectiveRow collective;
};

inline FoundPlan found_plan(std::int64_t tp, double matmul, double bubble) {
  FoundPlan p;
  p.plan.devices = 64;
  p.plan.tp = tp;
  p.plan.dp = 64 / tp;
  p.plan.global_batch = 64;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::matmul)] = matmul;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::bubble)] = bubble;
  p.cost.mfu[0] = 0.4;
  p.cost.memory.bytes[0] = 40e9;
  return p;
}

struct Searched {
  PlanResult report;
  Searched() {
    report.model.name = std::string("model");
    report.machine.name = std::string("machine");
    report.request.devices = {64};
    report.request.base.global_batch = 64;
    report.found.candidates = 1'234'567;
    report.found.feasible = 1'000'000;
    report.found.rejected[static_cast<std::size_t>(Rejected::memory)] = 234'567;
  }
};

inline AgainstPlan own_plan(std::int64_t tp, double matmul, double bubble) {
  const FoundPlan p = found_plan(tp, matmul, bubble);
  AgainstPlan own;
  own.label = "tp=4";
  own.plan = p.plan;
  own.cost = p.cost;
  own.rank.faster = 12'345;
  return own;
}

inline AgainstPlan cannot_run() {
  AgainstPlan own;
  own.label = "tp=7";
  own.why_not = "7 does not divide 64";
  return own;
}

// A step of thirds, which no rounding of each sums to 100.
struct Predicted {
  PredictResult report;
  Predicted() {
    report.model.name = std::string("model");
    report.machine.name = std::string("machine");
    report.machine.memory = Bytes{80'000'000'000};
    report.plan.devices = report.plan.dp = 4;
    report.plan.global_batch = 8;
    for (const StepTerm t : {StepTerm::matmul, StepTerm::bubble, StepTerm::data})
      report.cost.seconds[static_cast<std::size_t>(t)] = 1.0;
    report.cost.mfu[0] = 0.3;
    report.cost.tokens_per_second = 1000;
    report.cost.memory.bytes[0] = 50e9;
  }
};

// Four ranks of one group.
inline CommRecords four_ranks() {
  CommRecords records;
  const std::uint32_t g = records.group_keyed("0");
  records.groups[g].id = "0";
  records.groups[g].name = "default_pg";
  for (int r = 0; r < 4; ++r) records.rank_numbered(r);
  return records;
}

inline HangFinding hang_finding(HangKind kind) {
  HangFinding f;
  f.kind = kind;
  f.sequence = 57;
  f.ranks = {3};
  f.others = {0, 1, 2};
  f.call = HangCall{.name = "all_reduce", .sizes = "[[4]]", .types = "Float"};
  f.instead = HangCall{.name = "all_gather", .sizes = "[[5]]", .types = "Half"};
  return f;
}

inline Comparison compared(const LaunchSteps& a, const LaunchSteps& b,
                           std::optional<double> limit = std::nullopt) {
  Comparison c;
  c.runs = compare_runs({&a, 1}, {&b, 1}, {});
  c.label_a = "before";
  c.label_b = "after";
  c.max_regression = limit;
  c.regression = regression_of(c.runs, limit);
  return c;
}

inline AlgorithmTime algorithm_time(Algorithm a, double us, bool offered = true) {
  return {.algorithm = a,
          .protocol = Protocol::simple,
          .offered = offered,
          .time = Seconds{us * 1e-6},
          .formula = "1 us + S / 100 GB/s"};
}

// Two sizes, of which the ring is best for the larger.
inline PredictCollectiveResult two_sizes() {
  PredictCollectiveResult result{.machine = "M", .sweep = {}, .warnings = {msg::plain("a guess")}};
  CollectiveSweep& sweep = result.sweep;
  sweep.kind = CollectiveKind::all_gather;
  sweep.group = {.size = 16, .members = 8, .domains = 2};
  const AlgorithmTime tree = algorithm_time(Algorithm::tree, 10);
  const AlgorithmTime ring = algorithm_time(Algorithm::ring, 20);
  const AlgorithmTime other = algorithm_time(Algorithm::hierarchical, 30, false);
  sweep.points = {{Bytes{1000}, {tree, ring, other}, tree, ByteRate{9e7}},
                  {Bytes{2'000'000}, {ring, tree}, ring, ByteRate{9e10}}};
  sweep.crossovers = {
      {Bytes{40'000}, Algorithm::tree, Protocol::ll, Algorithm::ring, Protocol::simple}};
  return result;
}

inline ClockAlignment two_hosts() {
  ClockAlignment clocks;
  clocks.applied = true;
  clocks.reason = msg::clock_halves_agree(std::vector<std::int64_t>{});
  clocks.collectives = 40;
  clocks.spread = Ns{250'000};
  clocks.spread_aligned = Ns{2'000};
  clocks.hosts.push_back(
      {.host = "a", .ranks = {0, 1}, .offset = Ns{0}, .drift_ppm = 0, .uncertainty = Ns{0}});
  clocks.hosts.push_back({.host = "b",
                          .ranks = {2, 3},
                          .offset = Ns{-250'000},
                          .drift_ppm = 12.5,
                          .uncertainty = Ns{1'200}});
  return clocks;
}

inline TransferFit fit_of_sizes(std::initializer_list<double> sizes) {
  std::vector<SizedTime> calls;
  for (const double size : sizes)
    for (int c = 0; c < 4; ++c) calls.push_back({size, 20e-6 + size / 100e9});
  return {.kind = CollectiveKind::all_reduce,
          .group_size = 8,
          .placement = HostPlacement::several_hosts,
          .answer = fit_alpha_beta(calls),
          .typical = typical_times(calls)};
}

// StacksBesideRank as the result of the verb.
struct StacksBeside {
  StacksBesideRank made;
  StacksResult report;

  StacksBeside(std::string_view text, std::int64_t idle, std::int64_t idle_end)
      : made(text, idle, idle_end) {
    report.profile = std::move(made.profile);
    report.rules = std::move(made.rules);
    report.phases = std::move(made.phases);
    report.summary = summarize(report.profile, report.rules, report.phases);
    report.trace = StacksTrace{.job = made.run.job};
    report.trace->profiles = std::move(made.beside);
  }
};

// B waits 8 ms a step longer for data.
inline Comparison slower_with_parts() {
  LaunchSteps a = launch_of_steps(20, 100);
  LaunchSteps b = launch_of_steps(20, 110);
  a.parts = {{PartKind::budget, "idle_data", std::vector<double>(20, 1e6)}};
  b.parts = {{PartKind::budget, "idle_data", std::vector<double>(20, 9e6)}};
  return compared(a, b);
}

// Steps of 100 ns on all ranks but the last, whose steps take 108 ns.
inline CheckResult checked_ranks(int ranks, int steps) {
  CheckResult r{.version = "0", .input = "list.csv", .facts = {}};
  std::vector<NumberedStep> job;
  std::vector<RankOfStep> times;
  for (int s = 0; s < steps; ++s) {
    job.push_back({.number = s, .wall_ns = 108});
    for (int rank = 0; rank < ranks; ++rank)
      times.push_back({.rank = rank, .number = s, .wall_ns = rank == ranks - 1 ? 108.0 : 100.0});
  }
  r.times = step_times_by_rank(job, times, 0);
  return r;
}

// A machine of two ranks, whose all-reduce takes 20 us + size / 100 GB/s.
inline CalibrateResult calibrated() {
  CalibrateResult r;
  r.measured.name = r.made.machine.name = "box";
  r.measured.ranks = 2;
  r.measured.peaks[index(Dtype::fp32)] = FlopRate{200e9};
  r.made.machine.peak_rates = r.measured.peaks;
  r.measured.memory_rate = ByteRate{10e9};
  r.made.machine.memory_rate = r.measured.memory_rate;
  r.made.machine.sources = {"a test"};
  r.made.compute_error = 0.05;
  r.made.link_error = 0.1;
  for (std::int64_t bytes = 1024; bytes <= 1 << 24; bytes *= 4) {
    CollectiveTiming t{.group = {}, .bytes = Bytes{bytes}, .time = {}};
    t.group.size = t.group.members = 2;
    t.time = Seconds{20e-6 + static_cast<double>(bytes) / 100e9};
    t.spread = TimingSpread{.low = t.time * 0.9, .high = t.time * 1.2, .calls = 7};
    r.measured.collectives.push_back(t);
  }
  return r;
}

}  // namespace test

}  // namespace stepscope

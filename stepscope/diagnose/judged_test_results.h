// SPDX-License-Identifier: Apache-2.0
// Results by hand for tests of what is judged and of how it is shown.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/ranks/unit_test_builder.h"
#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings/stacks_findings.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/stack/stack_summary.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {

namespace test {

// Two stages; the second works longer, and the first waits for it.
inline PipelineBubble two_stages() {
  constexpr Ns ms{1'000'000};
  PipelineBubble p;
  p.stages = 2;
  p.passes = p.micro_batches = 4;
  p.chunks = 1;
  p.schedule = PipelineSchedule::one_f_one_b;
  for (int s = 0; s < 2; ++s) {
    StageBubble& stage = p.ranks.emplace_back();
    stage.view = static_cast<std::uint32_t>(s);
    stage.rank = stage.stage = s;
    StageStep step{.index = 5,
                   .begin = 10 * ms,
                   .end = 110 * ms,
                   .first_forward = {},
                   .last_backward = {},
                   .times = {}};
    step.times.wall = 100 * ms;
    step.times.work = step.times.passes = (s == 0 ? 40 : 80) * ms;
    if (s == 0) {
      step.times.between = {.idle = 15 * ms, .message = 45 * ms, .wait = {}};
    } else {
      step.times.fill.message = 12 * ms;
      step.times.drain.wait = 8 * ms;
    }
    stage.total = step.times;
    stage.steps.push_back(step);
  }
  return p;
}

inline Explanation explained() {
  constexpr Ns ms{1'000'000};
  Explanation e;
  e.bubble = {{.schedule = 15 * ms, .imbalance = 40 * ms, .links = 3 * ms, .rest = 2 * ms},
              {.schedule = 15 * ms, .imbalance = Ns{0} - 1 * ms, .links = 3 * ms, .rest = 3 * ms}};
  return e;
}

// A job of one rank, with the traces that its result refers to.
struct AnalyzedRank {
  Trace trace;
  JobResult job;

  explicit AnalyzedRank(TestRank rank) : trace(rank.rows().sealed()) {
    const RankInput input{0, &trace};
    job = analyze_job({&input, 1});
  }
};

inline constexpr LogTool megatron_tool = {
    .name = "megatron", .label = "Megatron-LM", .counting = FlopCounting::megatron};

// Forty records of Megatron-LM. The last half take a tenth longer.
struct MadeLog {
  JobLog log;
  LogSteps steps;
  LogAccount account;
  LogModel model;
  LogRates rates;

  MadeLog() {
    steps.tool = &megatron_tool;
    steps.how = "elapsed time per iteration";
    steps.launches = {0};
    steps.ranks = {7};
    for (int i = 0; i < 60; ++i) {
      LogRecord r;
      r.tool = &megatron_tool;
      r.iteration = 10 * (i + 1);
      r.wall_ns = ((i < 30 ? 500 : 550) + (i * 7) % 3) * 1e6;
      r.flops_per_s = 412e12;
      r.batch = 256;
      r.loss = 9.5 - 0.1 * i;
      r.memory_bytes = 20e9;
      steps.steps.push_back({.iteration = r.iteration,
                             .steps = 10,
                             .wall_ns = *r.wall_ns,
                             .record = log.records.size(),
                             .cause = {}});
      log.records.push_back(r);
    }
    log.tools = {{&megatron_tool, 60}};
    log.notes["records_cut"] = 2;
    log.settings = {{"seq_length", "2048"}, {"world_size", "8"}};
    log.timers = {{"optimizer", &megatron_tool, {14, 14, 15}}};
    log.communication = {{.operation = "all_reduce",
                          .size = "1.0 GB",
                          .count = 4,
                          .total_ms = 40,
                          .printed_algbw_gbit = 1600,
                          .printed_busbw_gbit = 1400,
                          .calls_ms = 10}};
    account = account_of(log, steps);
    model = model_of_log(log, account);
    rates = log_rates(log, steps, account, model, FlopRate{989e12});
  }
  [[nodiscard]] LogFacts report() const { return {log, steps, account, model, rates}; }
};

// Steps of `level` ms that go up and down by `percent`.
inline LaunchSteps launch_of_steps(std::size_t n, double level, double percent = 1) {
  LaunchSteps launch{.name = "run"};
  for (std::size_t i = 0; i < n; ++i)
    launch.wall_ns.push_back(level * 1e6 *
                             (1 + percent / 100 * (static_cast<double>((i * 37) % 11) / 5 - 1)));
  return launch;
}

// One rank, one step of 100 ms.
struct IdleRank : TestReport {
  IdleRank() : TestReport({{{BudgetCategory::compute, 80}, {BudgetCategory::idle_host, 20}}}) {
    const std::vector<std::int64_t> walls = {100'000'000};
    job.steps.summary = summarize(walls);
  }
};

template <class T>
T got(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

// A training thread that waits for the GIL in [40, 90) ms, and one that computes all the time.
inline constexpr std::string_view waiting_thread =
    R"({"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[)"
    R"({"name":"forward","file":"m.py"},{"name":"take_gil"},{"name":"tokenize"}]},"profiles":[)"
    R"({"type":"evented","name":"main","unit":"milliseconds","startValue":0,"endValue":100,)"
    R"("events":[{"type":"O","at":0,"frame":0},{"type":"O","at":40,"frame":1},)"
    R"({"type":"C","at":90,"frame":1},{"type":"C","at":100,"frame":0}]},)"
    R"({"type":"sampled","name":"loader","unit":"milliseconds","startValue":0,"endValue":100,)"
    R"("samples":[[2]],"weights":[100]}]})";

// The stacks of a text together with IdleRank, whose device is idle from `idle` to `idle_end` ms.
struct StacksBesideRank {
  IdleRank run;
  Profile profile;
  PhaseRules rules;
  NodePhases phases;
  std::vector<ProfileBesideTrace> beside;

  StacksBesideRank(std::string_view text, std::int64_t idle, std::int64_t idle_end) {
    using enum BudgetCategory;
    const auto ms = [](std::int64_t t) { return Ns{t * 1'000'000}; };
    const std::vector<BudgetPiece> pieces = {{ms(0), ms(idle), compute, 0},
                                             {ms(idle), ms(idle_end), idle_host, 0},
                                             {ms(idle_end), ms(100), compute, 0}};
    profile = got(profile_of(text, {.keep_samples = true}));
    rules = got(make_phase_rules());
    phases = phases_of(profile, rules);
    beside.emplace_back().join = join_stacks(profile, phases, 0, Ns{0}, pieces);
  }
};

// Two units, both there when they are needed.
inline TestRank two_hits() {
  EngineRank r(0, 0, 300);
  r.fetch("a", 0, 1);
  r.fetch("b", 1, 20);
  r.pass("a", "forward", 2, 150);
  r.pass("b", "forward", 150, 290);
  return r.take();
}

// Gathers and reduces unknown parameters.
inline TestRank unknown_units() {
  TestRank r;
  r.rows().step("ProfilerStep#0", 0, 400'000);
  r.rows().launch(1, 0, 1000);
  r.comm(all_gather_kernel, 2000, 50'000, {.name = "_allgather_base"});
  r.comm("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()", 60'000, 90'000,
         {.name = "_reduce_scatter_base"});
  return r;
}

}  // namespace test

}  // namespace stepscope

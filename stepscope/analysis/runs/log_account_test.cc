// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/log_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace stepscope {
namespace {

constexpr LogTool megatron_tool = {
    .name = "megatron", .label = "Megatron-LM", .counting = FlopCounting::megatron};
constexpr LogTool deepspeed_tool = {.name = "deepspeed", .label = "DeepSpeed"};

struct Made {
  JobLog log;
  LogSteps steps;

  void add(double wall_ns, std::int64_t iteration, auto more) {
    LogRecord r;
    r.tool = &megatron_tool;
    r.iteration = iteration;
    r.wall_ns = wall_ns;
    more(r);
    steps.steps.push_back({.iteration = iteration,
                           .steps = 10,
                           .wall_ns = wall_ns,
                           .record = log.records.size(),
                           .cause = {}});
    log.records.push_back(r);
  }
};

// Sixty records of 500 ms; the first is slow and the last twenty take 600.
Made made() {
  Made m;
  m.steps.tool = &megatron_tool;
  m.steps.launches = {0};
  for (int i = 0; i < 60; ++i) {
    const double level = i == 0 ? 2000 : i < 40 ? 500 : 600;
    m.add((level + (i * 7) % 5) * 1e6, 10 * (i + 1), [&](LogRecord& r) {
      r.batch = 256;
      r.loss = 10 - 0.1 * i;
      r.memory_bytes = 1e9 * (1 + i % 3);
    });
  }
  m.log.settings = {{"seq_length", "2048"}, {"world_size", "8"}, {"hidden_size", "x8"}};
  return m;
}

TEST(LogAccount, StepsThroughputLossAndMemory) {
  Made m = made();
  m.log.records[7].loss = std::nan("");
  m.log.records[7].not_finite = 2;
  m.log.records[8].skipped = 3;
  const LogAccount a = account_of(m.log, m.steps);
  EXPECT_EQ(a.first_iteration, 10);
  EXPECT_EQ(a.last_iteration, 600);
  EXPECT_EQ(a.steps_per_record, 10);
  EXPECT_EQ(a.warm_up, 1U);
  EXPECT_NEAR(a.median_ns, 602e6, 2e6);  // of the steps since the change
  EXPECT_DOUBLE_EQ(*a.batch, 256);
  EXPECT_DOUBLE_EQ(*a.devices, 8);
  EXPECT_FALSE(setting_of(m.log, "hidden_size"));
  EXPECT_DOUBLE_EQ(*a.samples_per_s, 256 / (a.median_ns / 1e9));
  EXPECT_DOUBLE_EQ(*a.tokens_per_s, *a.samples_per_s * 2048);
  EXPECT_DOUBLE_EQ(a.loss->first, 10);
  EXPECT_NEAR(a.loss->last, 4.1, 1e-9);
  EXPECT_EQ(a.loss->least_iteration, 600);
  EXPECT_EQ(a.loss->not_finite, 2);
  EXPECT_EQ(a.loss->first_not_finite, 80);
  EXPECT_TRUE(a.loss->finite);
  EXPECT_EQ(a.skipped, 3);
  EXPECT_DOUBLE_EQ(*a.memory_bytes, 3e9);
}

TEST(LogAccount, WhereTheStepTimeChanged) {
  const Made m = made();
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.changes.size(), 1U);
  EXPECT_EQ(a.changes[0].record, 40U);
  EXPECT_EQ(a.changes[0].iteration, 410);
  EXPECT_NEAR(a.changes[0].before_ns, 502e6, 1e6);
  EXPECT_NEAR(a.changes[0].after_ns, 602e6, 1e6);
}

TEST(LogAccount, StepsAreNamedWithTheirEpochWhereEachCountsAnew) {
  Made m = made();
  for (std::size_t i = 0; i < m.steps.steps.size(); ++i) {
    m.log.records[i].epoch = static_cast<std::int32_t>(i / 30);
    m.log.records[i].iteration = m.steps.steps[i].iteration = static_cast<std::int64_t>(i % 30);
  }
  EXPECT_EQ(account_of(m.log, m.steps).changes.at(0).place, "step 10");
  m.steps.by_epoch = true;
  const LogAccount a = account_of(m.log, m.steps);
  EXPECT_EQ(a.changes.at(0).place, "step 10 of epoch 1");
  EXPECT_EQ(step_name(a.loss->least_iteration, a.loss->least_epoch), "step 29 of epoch 1");
}

// Two benchmarks of one program: their median would be a time that no step has.
TEST(LogAccount, TimesThatAreApartWhereTheNumbersGoBackAreTwoLevels) {
  Made m;
  for (int i = 0; i < 18; ++i) m.add((i < 9 ? 136 : 448) * 1e6 + i % 3, 10 * (i % 9), [](auto&) {});
  m.steps.steps[9].cause = numbered_anew_cause;
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.changes.size(), 1U);
  EXPECT_EQ(a.changes[0].record, 9U);
  EXPECT_EQ(a.changes[0].place, "step 0 of part 2");
  EXPECT_NEAR(a.changes[0].before_ns, 136e6, 5);
  EXPECT_NEAR(a.median_ns, 448e6, 5);
}

TEST(LogAccount, TheSlowestStepIsOneThatIsKept) {
  Made m = made();
  EXPECT_EQ(account_of(m.log, m.steps).slowest, 42U);
  m.steps.steps[7].wall_ns = 50e9;
  EXPECT_EQ(account_of(m.log, m.steps).slowest, 7U);
}

TEST(LogAccount, AChangeEndsWhereALaterOneTakesItBack) {
  Made m;
  for (int i = 0; i < 90; ++i)
    m.add((i >= 30 && i < 60 ? 600 : i < 30 ? 500 : 510) * 1e6 + i * 7 % 5 * 1e6, i, [](auto&) {});
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.changes.size(), 2U);
  EXPECT_EQ(a.changes[0].until, "step 60");
  EXPECT_TRUE(a.changes[1].until.empty());
}

TEST(LogAccount, LaunchesThatAreAlikeAreOneLevel) {
  Made m;
  for (int i = 0; i < 18; ++i) m.add((500 + i * 7 % 5) * 1e6, i % 9, [](auto&) {});
  m.steps.steps[9].cause = restart_cause;
  EXPECT_TRUE(account_of(m.log, m.steps).changes.empty());
}

TEST(LogAccount, AStepThatBecomesLongerFromEndToEnd) {
  Made m;
  m.steps.launches = {0};
  for (int i = 0; i < 200; ++i) m.add((470 + 0.95 * i + i * 7 % 5) * 1e6, i + 1, [](LogRecord&) {});
  const LogAccount a = account_of(m.log, m.steps);
  EXPECT_TRUE(a.changes.empty());
  ASSERT_TRUE(a.drift);
  EXPECT_NEAR(a.drift->first, 472e6, 3e6);
  EXPECT_NEAR(a.drift->last, 661e6, 3e6);
  EXPECT_FALSE(account_of(made().log, made().steps).drift);
}

TEST(LogAccount, LaunchesEachHaveTheirOwnMedian) {
  Made m = made();
  m.steps.launches = {0, 40};
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.launches.size(), 2U);
  EXPECT_EQ(a.launches[0].last_iteration, 400);
  EXPECT_EQ(a.launches[1].first_iteration, 410);
  EXPECT_EQ(a.launches[1].records, 20U);
  EXPECT_NEAR(a.launches[1].median_ns, 602e6, 1e6);
}

// From the shared logs: DeepSpeed prints 442.95 sequences/s, but 256 in 473.2 ms are 541.
TEST(LogAccount, DeepSpeedsSamplesPerSecondAreOfOneStep) {
  Made m = made();
  LogRecord r;
  r.tool = &deepspeed_tool;
  r.samples_per_s = 442.95;
  m.log.records.push_back(r);
  const LogAccount a = account_of(m.log, m.steps);
  EXPECT_DOUBLE_EQ(*a.printed_samples_per_s, 442.95);
  EXPECT_EQ(a.printed_by, &deepspeed_tool);
  m.log.records.back().samples_per_s = *a.samples_per_s * 1.01;
  EXPECT_FALSE(account_of(m.log, m.steps).printed_samples_per_s);
}

// On a TPU fairseq counts lines as steps: 1613 tokens in 0.6 s are 2.7 k a second, not 57.
TEST(LogAccount, APrintedRateHasToFitTheTokensAndTheTime) {
  Made m = made();
  const auto print = [&](double rate) {
    for (LogRecord& r : m.log.records) {
      r.tokens_per_s = rate;
      r.step_tokens = 1613;
    }
  };
  print(57);
  const LogAccount wrong = account_of(m.log, m.steps);
  EXPECT_DOUBLE_EQ(*wrong.tokens_per_s, 1613 / (wrong.median_ns / 1e9));
  EXPECT_DOUBLE_EQ(*wrong.printed_tokens_per_s, 57);
  print(2600);
  const LogAccount right = account_of(m.log, m.steps);
  EXPECT_DOUBLE_EQ(*right.tokens_per_s, 2600);
  EXPECT_EQ(right.throughput_from, "as printed");
  EXPECT_FALSE(right.printed_tokens_per_s);
}

// A counter ran over.
TEST(LogAccount, NoJobComputesSoManyTokens) {
  Made m = made();
  for (LogRecord& r : m.log.records) {
    r.tokens_per_s = 8.9e19;
    r.step_tokens = 8.9e19 * 0.602;
  }
  m.log.settings.erase("seq_length");
  EXPECT_FALSE(account_of(m.log, m.steps).tokens_per_s);
}

// Three timers of each step, printed behind its line: one explains the change, one holds it.
TEST(LogAccount, ATimerExplainsAChange) {
  Made m = made();
  LogTimer input{.name = "batch_input", .tool = &deepspeed_tool};
  LogTimer whole{.name = "train_batch", .tool = &deepspeed_tool};
  LogTimer forward{.name = "forward", .tool = &deepspeed_tool};
  for (std::uint32_t i = 0; i < 60; ++i) {
    const double slow = i < 40 ? 0 : 98;
    const double jitter = (i * 7) % 5;
    for (auto [timer, ms] : {std::pair(&input, 12 + slow), std::pair(&whole, 480 + slow + jitter),
                             std::pair(&forward, 250 + jitter)}) {
      timer->ms.push_back(ms);
      timer->records.push_back(i + 1);
    }
  }
  m.log.timers = {whole, input, forward};
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.changes.size(), 1U);
  ASSERT_TRUE(a.changes[0].cause);
  EXPECT_EQ(a.changes[0].cause->timer, "batch_input");
  EXPECT_DOUBLE_EQ(a.changes[0].cause->before_ns, 12e6);
  EXPECT_DOUBLE_EQ(a.changes[0].cause->after_ns, 110e6);
  const auto row = std::ranges::find(a.timers, "batch_input", &LogTimerRow::name);
  ASSERT_NE(row, a.timers.end());
  EXPECT_DOUBLE_EQ(row->median_ns, 110e6) << "of the steps since the change";
  EXPECT_DOUBLE_EQ(*row->before_ns, 12e6);
}

TEST(LogAccount, NoTimerExplainsAChangeThatNoneShares) {
  Made m = made();
  LogTimer timer{.name = "forward", .tool = &deepspeed_tool};
  for (std::uint32_t i = 0; i < 60; ++i) {
    timer.ms.push_back(i < 40 ? 250 : 260);
    timer.records.push_back(i + 1);
  }
  m.log.timers = {timer};
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.changes.size(), 1U);
  EXPECT_FALSE(a.changes[0].cause);
}

TEST(LogAccount, ALossThatIsNeverANumber) {
  Made m = made();
  for (LogRecord& r : m.log.records) {
    r.loss = std::nan("");
    r.not_finite = 1;
  }
  const LogAccount a = account_of(m.log, m.steps);
  EXPECT_FALSE(a.loss->finite);
  EXPECT_EQ(a.loss->not_finite, 60);
  EXPECT_EQ(a.loss->first_not_finite, 10);
}

TEST(LogAccount, TimersByTheirShareOfAStep) {
  Made m = made();
  m.log.timers = {{"setup", &megatron_tool, {29012}},
                  {"optimizer", &megatron_tool, {14, 13, 15}},
                  {"forward", &megatron_tool, {252, 252, 300}}};
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.timers.size(), 3U);
  EXPECT_EQ(a.timers[0].name, "forward");
  EXPECT_DOUBLE_EQ(*a.timers[0].share, 252e6 / a.median_ns);
  EXPECT_EQ(a.timers[1].name, "optimizer");
  EXPECT_FALSE(a.timers[2].share);  // once per run
}

// algbw = S / t in GB/s: for an all-reduce half of DeepSpeed's value, divided by eight bits.
TEST(LogAccount, TheCommsLoggersRatesInBytes) {
  Made m = made();
  m.log.communication = {{.operation = "all_reduce",
                          .size = "1.0 GB",
                          .count = 4,
                          .total_ms = 40,
                          .printed_algbw_gbit = 1600,
                          .printed_busbw_gbit = 1400,
                          .calls_ms = 10},
                         {.operation = "all_gather_into_tensor",
                          .size = "0B",
                          .count = 1,
                          .total_ms = 80,
                          .printed_algbw_gbit = 0,
                          .printed_busbw_gbit = 0,
                          .calls_ms = 80},
                         {.operation = "reduce_scatter_tensor",
                          .size = "2.5 MB",
                          .count = 1,
                          .total_ms = 50,
                          .printed_algbw_gbit = 80,
                          .printed_busbw_gbit = 70,
                          .calls_ms = 50}};
  const LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.communication.size(), 3U);
  EXPECT_EQ(a.communication[0].printed.operation, "all_gather_into_tensor");  // most time first
  EXPECT_FALSE(a.communication[0].algbw);
  EXPECT_DOUBLE_EQ(*a.communication[0].bytes, 0);
  EXPECT_DOUBLE_EQ(*a.communication[1].bytes, 2.5 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(*a.communication[1].algbw, 10e9);
  EXPECT_DOUBLE_EQ(*a.communication[2].algbw, 100e9);
  EXPECT_DOUBLE_EQ(*a.communication[2].busbw, 175e9);
}

TEST(LogAccount, WhatTheFlopsProfilerGotWrong) {
  Made m = made();
  LogFlopsProfile p;
  p.micro_batch = 16;
  p.data_parallel = 4;
  p.forward_macs = 4.1e12;
  p.forward_flops = 8.2e12;
  p.forward_s = 0.1234;
  p.iteration_s = 0.38;
  p.printed_forward_rate = 8.2e12 / 0.1234;
  p.printed_samples_per_s = 16 * 4 / 0.38;
  m.log.profiles = {p};
  LogAccount a = account_of(m.log, m.steps);
  ASSERT_EQ(a.profiles.size(), 1U);
  EXPECT_TRUE(a.profiles[0].faults.empty());
  EXPECT_DOUBLE_EQ(*a.profiles[0].rate, 3 * 8.2e12 / 0.38);
  // Faults: the latency in ms read as seconds; samples of only the micro-batch; MACs read as FLOPs.
  m.log.profiles[0].printed_forward_rate = 8.2e9 / 0.1234;
  m.log.profiles[0].printed_samples_per_s = 16 / 0.38;
  m.log.profiles[0].forward_macs = 8.2e12;
  a = account_of(m.log, m.steps);
  ASSERT_EQ(a.profiles[0].faults.size(), 3U);
  EXPECT_NE(a.profiles[0].faults[0].find("factor of 1000"), std::string::npos);
  EXPECT_NE(a.profiles[0].faults[1].find("samples/second"), std::string::npos);
  EXPECT_NE(a.profiles[0].faults[2].find("MACs"), std::string::npos);
}

TEST(LogAccount, OfNothing) {
  const LogAccount a = account_of({}, {});
  EXPECT_FALSE(a.tokens_per_s);
  EXPECT_FALSE(a.loss);
  EXPECT_TRUE(a.changes.empty());
}

}  // namespace
}  // namespace stepscope

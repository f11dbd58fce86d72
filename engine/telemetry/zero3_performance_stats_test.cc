// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/zero3_performance_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "engine/telemetry/stats_json.h"
#include "engine/telemetry/straggler.h"
#include "engine/telemetry/window_bytes.h"
#include "engine/telemetry/window_test_builder.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

Ns test_time{};
Ns test_clock() { return test_time; }

class Stats : public testing::Test {
 protected:
  void SetUp() override { test_time = 100s; }
  // The example of docs/reference/zero3-statistics.md: forward 1.0 s, backward 2.0 s, optimizer
  // 0.2 s, exposed reduction 0.3 s, 1000 tokens; nothing else.
  static void example_step(Zero3PerformanceStats& stats) {
    test_time += 1s;
    ASSERT_TRUE(stats.record_forward_pass(1s, 1000));
    test_time += 2s;
    ASSERT_TRUE(stats.record_backward_pass(2s, 1000));
    test_time += 300ms;
    ASSERT_TRUE(stats.record_gradient_sync(300ms, 1'000'000, 2));
    test_time += 200ms;
    ASSERT_TRUE(stats.record_optimizer_step(200ms, 500'000));
  }
  // Both ranks at once.
  static void example_step(Zero3PerformanceStats& a, Zero3PerformanceStats& b) {
    const Ns start = test_time;
    example_step(a);
    test_time = start;
    example_step(b);
  }
};

double sum_of_terms(const OptimizationEfficiency& efficiency) {
  return std::accumulate(efficiency.terms.begin(), efficiency.terms.end(), 0.0,
                         [](double sum, const EfficiencyTerm& term) { return sum + term.share; });
}

std::vector<std::byte> encoded(const JobWindow& window) {
  std::vector<std::byte> bytes;
  encode(window.ranks.front(), bytes);
  return bytes;
}

TEST_F(Stats, CountsEachTokenOnceOverAllOfTheWallTime) {
  Zero3PerformanceStats stats(0, 2, test_clock);
  EXPECT_FALSE(stats.tokens_per_second());
  example_step(stats);
  example_step(stats);
  EXPECT_NEAR(*stats.tokens_per_second(), 1000 / 3.5, 1e-9);  // 286, not 667
  const ThroughputMetrics rates = stats.throughput_metrics();
  EXPECT_NEAR(*rates.forward_tokens_per_second, 1000, 1e-9);
  EXPECT_NEAR(*rates.backward_tokens_per_second, 500, 1e-9);
  EXPECT_EQ(stats.forward_passes(), 2U);
  EXPECT_EQ(stats.backward_passes(), 2U);
  EXPECT_EQ(stats.optimizer_steps(), 2U);
  EXPECT_EQ(stats.total_forward_time(), 2s);
  EXPECT_EQ(stats.total_backward_time(), 4s);
  EXPECT_EQ(stats.total_optimizer_time(), 400ms);
  EXPECT_EQ(stats.average_forward_time(), 1s);
  EXPECT_EQ(stats.average_backward_time(), 2s);
  EXPECT_EQ(stats.average_optimizer_time(), 200ms);
  EXPECT_EQ(stats.gradient_sync_time(), 600ms);
}

TEST_F(Stats, MergingParallelRanksAddsTokensAndNoTime) {
  Zero3PerformanceStats a(0, 2, test_clock);
  Zero3PerformanceStats b(1, 2, test_clock);
  example_step(a, b);
  const auto merged = a.merge(b);
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_NEAR(*a.tokens_per_second(), 2000 / 3.5, 1e-9);  // 571 for the job
  EXPECT_NEAR(*a.throughput_metrics().tokens_per_second_per_rank, 1000 / 3.5, 1e-9);
  EXPECT_EQ(a.forward_passes(), 1U);
  EXPECT_EQ(a.optimizer_steps(), 1U);
  EXPECT_EQ(a.total_forward_time(), 1s);
  // Each collective counts once; its bytes count for both members.
  const CommunicationStats comm = a.communication_stats();
  EXPECT_EQ(comm.operations, 1U);
  EXPECT_EQ(comm.kinds.at(0).calls.sum.calls, 2U);
  EXPECT_EQ(comm.kinds.at(0).calls.unique, 1U);
  // Merging again, or with itself, gives an error and changes nothing.
  EXPECT_FALSE(a.merge(b));
  const Zero3PerformanceStats copy = a;
  EXPECT_FALSE(a.merge(copy));
  EXPECT_EQ(a.window().ranks.size(), 2U);
}

// "Merging" in docs/reference/zero3-statistics.md has the rule.
TEST_F(Stats, WhatIsMergedTakesNoRecordsUntilItIsReset) {
  Zero3PerformanceStats a(0, 2, test_clock);
  Zero3PerformanceStats b(1, 2, test_clock);
  example_step(a, b);
  Zero3PerformanceStats job = a;
  ASSERT_TRUE(job.merge(b));
  const auto refused = job.record_forward_pass(1s, 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "a record cannot be one of several ranks; record in each rank's own object, and merge "
            "copies");
  EXPECT_FALSE(job.record_optimizer_step(1s, 1));
  EXPECT_FALSE(job.record_communication(CollectiveKind::all_gather, 1s, Bytes{1}));
  EXPECT_FALSE(job.end_step());
  EXPECT_NEAR(*job.tokens_per_second(), 2000 / 3.5, 1e-9);
  job.reset();
  EXPECT_TRUE(job.record_forward_pass(1s, 1000));
  example_step(a, b);
  EXPECT_TRUE(a.merge(b)) << "the ranks' own objects go on";
}

TEST_F(Stats, RanksOfSeveralHostsAreMergedByTheirClockOffsets) {
  const auto rank = [](int number, Ns boot, bool says_offset) {
    test_time = 100s + boot;
    Zero3PerformanceStats stats(number, 2, test_clock);
    if (says_offset) stats.set_clock_offset(-boot);
    stats.reset();
    example_step(stats);
    return stats;
  };
  Zero3PerformanceStats job = rank(0, 0s, false);
  const auto refused = job.merge(rank(1, 3600s, false));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("give each rank its clock offset"), std::string::npos);
  ASSERT_TRUE(job.merge(rank(1, 3600s, true)));
  EXPECT_NEAR(*job.tokens_per_second(), 2000 / 3.5, 1e-9);
}

// Two ranks of three steps of 2.5 s, one 250 ms behind in two of them: the job takes 7.5 s, though
// its steps are 7.75 s long in sum.
TEST_F(Stats, RanksInDifferentStepsAtOnceTakeTheTimeThatPasses) {
  const auto steps_that_end_at = [](Zero3PerformanceStats& stats, std::vector<Ns> ends) {
    for (const Ns end : ends) {
      test_time = 100s + end;
      ASSERT_TRUE(stats.record_flops(Flops{1e11}, Flops{1e11}));
      ASSERT_TRUE(stats.record_forward_pass(2s, 1000));
      ASSERT_TRUE(stats.record_optimizer_step(100ms, 10));
    }
  };
  Zero3PerformanceStats a(0, 2, test_clock);
  Zero3PerformanceStats b(1, 2, test_clock);
  steps_that_end_at(a, {2500ms, 5000ms, 7500ms});
  steps_that_end_at(b, {2750ms, 5000ms, 7500ms});
  ASSERT_TRUE(a.merge(b));
  EXPECT_EQ(a.throughput_metrics().wall, 7500ms);
  EXPECT_NEAR(*a.tokens_per_second(), 6000 / 7.5, 1e-9);
  const auto steps = job_steps(a.window());
  EXPECT_EQ(steps[0].end - steps[0].begin, 2750ms);
  EXPECT_EQ(steps[1].end - steps[1].begin, 2500ms);
  EXPECT_EQ(steps[1].added, 2250ms);
  ASSERT_TRUE(a.set_references({.peak = FlopRate{1e12}}));
  EXPECT_NEAR(sum_of_terms(a.optimization_efficiency()), 1, 1e-12);
}

TEST_F(Stats, WhatCannotBeTrueIsRefusedAndChangesNothing) {
  Zero3PerformanceStats stats(0, 4, test_clock);
  const auto before = encoded(stats.window());
  const auto refused = [](const Result<Done>& done) {
    return !done && done.error().code == ErrorCode::refused && !done.error().hint.empty();
  };
  using enum CollectiveKind;
  EXPECT_TRUE(refused(stats.record_forward_pass(-1ns, 1)));
  EXPECT_TRUE(refused(stats.record_forward_pass(1s, -1)));
  EXPECT_TRUE(refused(stats.record_backward_pass(-1ns, 1)));
  EXPECT_TRUE(refused(stats.record_backward_pass(1s, -1)));
  EXPECT_TRUE(refused(stats.record_optimizer_step(-1ns, 1)));
  EXPECT_TRUE(refused(stats.record_optimizer_step(1s, -1)));
  EXPECT_TRUE(refused(stats.record_layer_execution("h.0", -1ns)));
  EXPECT_TRUE(refused(stats.record_layer_backward("h.0", -1ns)));
  EXPECT_TRUE(refused(stats.record_layer_recompute("h.0", -1ns)));
  const auto to_device = TransferDirection::host_to_device;
  EXPECT_TRUE(refused(stats.record_parameter_transfer(-1ns, Bytes{1}, to_device)));
  EXPECT_TRUE(refused(stats.record_parameter_transfer(1s, Bytes{-1}, to_device)));
  EXPECT_TRUE(refused(stats.record_parameter_transfer(1s, Bytes{1}, to_device, 2s)));
  EXPECT_TRUE(refused(stats.record_parameter_transfer(1s, Bytes{1}, to_device, -1ns)));
  EXPECT_TRUE(refused(stats.record_gradient_sync(-1ns, 1, 4)));
  EXPECT_TRUE(refused(stats.record_gradient_sync(1s, -1, 4)));
  EXPECT_TRUE(refused(stats.record_gradient_sync(1s, 1, 0)));
  EXPECT_TRUE(refused(stats.record_gradient_sync(1s, 1, 5)));
  EXPECT_TRUE(refused(stats.record_communication(all_gather, -1ns, Bytes{1})));
  EXPECT_TRUE(refused(stats.record_communication(all_gather, 1s, Bytes{-1})));
  EXPECT_TRUE(refused(stats.record_communication(none, 1s, Bytes{1})));
  EXPECT_TRUE(refused(stats.record_communication(all_gather, 1s, Bytes{1}, {.group_size = -2})));
  EXPECT_TRUE(refused(stats.record_communication(all_gather, 1s, Bytes{1}, {.stall = 2s})));
  EXPECT_TRUE(
      refused(stats.record_communication(all_gather, 1s, Bytes{1}, {.waited_for_peers = 2s})));
  for (const std::string_view name : {"world", "group of 2"})
    EXPECT_TRUE(refused(
        stats.record_communication(all_gather, 1s, Bytes{1}, {.group_size = 2, .group = name})))
        << name;
  EXPECT_TRUE(refused(stats.record_flops(Flops{-1}, Flops{1})));
  EXPECT_TRUE(refused(stats.record_flops(Flops{2}, Flops{1})));
  EXPECT_TRUE(refused(stats.record_flops(Flops{std::nan("")}, Flops{1})));
  EXPECT_EQ(encoded(stats.window()), before);
  EXPECT_EQ(stats.record_gradient_sync(1s, 1, 5).error().message(),
            "the group of a collective cannot be of 5 of 4 ranks; give 0 for the world, or a "
            "number of its ranks");
}

// "Reading" in docs/reference/zero3-statistics.md has the rule.
TEST_F(Stats, QuantilesOfFewPassesAreRecordedTimes) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  EXPECT_FALSE(stats.pass_times(TrainingPass::forward).p50);
  ASSERT_TRUE(stats.record_forward_pass(10ms, 1));
  for (const auto& q :
       {stats.pass_times(TrainingPass::forward).p50, stats.pass_times(TrainingPass::forward).p99})
    EXPECT_NEAR(static_cast<double>(q->count()), 10e6, 0.1e6);
  for (int i = 2; i <= 12; ++i) ASSERT_TRUE(stats.record_forward_pass(i * 10ms, 1));
  const PassTimes times = stats.pass_times(TrainingPass::forward);
  EXPECT_EQ(times.count, 12U);
  EXPECT_EQ(times.items, 12);
  EXPECT_EQ(times.total, 780ms);
  EXPECT_EQ(times.mean, 65ms);
  EXPECT_EQ(times.min, 10ms);
  EXPECT_EQ(times.max, 120ms);
  const auto ms = [](std::optional<Ns> t) { return static_cast<double>(t->count()) / 1e6; };
  EXPECT_NEAR(ms(times.p50), 60, 0.6);
  EXPECT_NEAR(ms(times.p90), 100, 1.0);
  EXPECT_NEAR(ms(times.p99), 110, 1.1);
}

TEST_F(Stats, MergeRefusesRanksOverOtherSteps) {
  Zero3PerformanceStats a(0, 2, test_clock);
  Zero3PerformanceStats b(1, 2, test_clock);
  example_step(a);
  example_step(b);
  example_step(b);
  const auto merged = a.merge(b);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().message(),
            "rank 1 has steps [0, 2), rank 0 has [0, 1); gather windows of the same steps");
}

TEST_F(Stats, GradientsCountAsElementsOfTheirType) {
  Zero3PerformanceStats stats(0, 4, test_clock);
  ASSERT_TRUE(stats.record_gradient_sync(10ms, 1'000'000, 4, ElementType::bf16));
  ASSERT_TRUE(
      stats.record_gradient_sync(10ms, 1'000'000, 4, ElementType::f32, CollectiveKind::all_reduce));
  const CommunicationStats comm = stats.communication_stats();
  ASSERT_EQ(comm.kinds.size(), 2U);
  EXPECT_EQ(comm.kinds[0].calls.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(comm.kinds[0].calls.sum.bytes, Bytes{4'000'000});
  EXPECT_EQ(comm.kinds[0].calls.bus_bytes(), Bytes{6'000'000});  // 2 · 3/4
  EXPECT_EQ(comm.kinds[1].calls.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(comm.kinds[1].calls.sum.bytes, Bytes{2'000'000});
  EXPECT_EQ(comm.kinds[1].calls.bus_bytes(), Bytes{1'500'000});
}

// 3 ranks, factor 4/3: four calls of 100 bytes are 533.3 bytes, which single calls would round
// down.
TEST_F(Stats, BusBytesAreRoundedOnce) {
  Zero3PerformanceStats stats(0, 3, test_clock);
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(stats.record_communication(CollectiveKind::all_reduce, 1ms, Bytes{100}));
  EXPECT_EQ(stats.communication_stats().kinds.at(0).calls.bus_bytes(), Bytes{533});
  EXPECT_EQ(stats.communication_stats().bytes, Bytes{533});
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(stats.record_communication(CollectiveKind::all_reduce, 1ms, Bytes{101}));
  EXPECT_EQ(stats.communication_stats().kinds.at(0).calls.bus_bytes(), Bytes{1072});
}

TEST_F(Stats, TakesAllCollectives) {
  Zero3PerformanceStats stats(0, 8, test_clock);
  for (std::size_t kind = 1; kind < collective_kind_count; ++kind)
    ASSERT_TRUE(stats.record_communication(static_cast<CollectiveKind>(kind), 1ms, Bytes{800}));
  EXPECT_EQ(stats.communication_stats().kinds.size(), collective_kind_count - 1);
}

TEST_F(Stats, TransfersKnowTheirDirectionAndGigabytesAreDecimal) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  EXPECT_FALSE(stats.memory_bandwidth_gb_per_s());
  for (std::size_t d = 0; d < transfer_direction_count; ++d) {
    test_time += 100ms;
    ASSERT_TRUE(stats.record_parameter_transfer(100ms, Bytes{1'000'000'000},
                                                static_cast<TransferDirection>(d)));
  }
  const MemoryTransferMetrics moved = stats.memory_transfer_metrics();
  ASSERT_EQ(moved.links.size(), 6U);
  for (const TransferLinkStats& link : moved.links) {
    EXPECT_NEAR(*link.gb_per_s, 10, 1e-12);
    EXPECT_FALSE(link.efficiency);
  }
  EXPECT_NEAR(*stats.memory_bandwidth_gb_per_s(), 10, 1e-12);
  EXPECT_EQ(stats.parameter_transfer_time(), 600ms);
  ReferenceRates references;
  references.transfers[slot(TransferDirection::nvme_to_host)] =
      LinkReference{.start = {}, .rate = {40e9}};
  ASSERT_TRUE(stats.set_references(references));
  EXPECT_NEAR(*stats.memory_transfer_metrics().efficiency, 0.25, 1e-12);
}

TEST_F(Stats, OverlappingTransfersShareTheirTime) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  test_time += 100ms;
  ASSERT_TRUE(
      stats.record_parameter_transfer(100ms, Bytes{1'000'000}, TransferDirection::host_to_device));
  ASSERT_TRUE(
      stats.record_parameter_transfer(50ms, Bytes{1'000'000}, TransferDirection::host_to_device));
  const auto link = stats.memory_transfer_metrics().links.at(0);
  EXPECT_EQ(link.sum.time, 150ms);
  EXPECT_EQ(link.sum.busy, 100ms);
  EXPECT_NEAR(*link.gb_per_s, 0.02, 1e-12);
}

TEST_F(Stats, AStepSumsToItsWallEvenWhereRecordsOverlap) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  test_time += 10ms;
  ASSERT_TRUE(stats.record_forward_pass(3ms, 10));
  ASSERT_TRUE(stats.record_optimizer_step(1ms, 10));
  StepRecord step = stats.window().ranks[0].steps.at(0);
  EXPECT_EQ(sum(step.activity), 10ms);
  EXPECT_EQ(step.activity[slot(Activity::other)], 6ms);
  test_time += 10ms + 1ns;
  ASSERT_TRUE(stats.record_forward_pass(9ms, 10));
  ASSERT_TRUE(stats.record_backward_pass(9ms, 10));
  ASSERT_TRUE(stats.record_optimizer_step(2ms + 7ns, 10));
  step = stats.window().ranks[0].steps.at(1);
  EXPECT_EQ(sum(step.activity), 10ms + 1ns);
  EXPECT_EQ(step.activity[slot(Activity::other)], 0ns);
  EXPECT_EQ(stats.window().ranks[0].totals.beyond_wall, 10ms + 6ns);
  EXPECT_EQ(stats.total_forward_time(), 12ms);  // the recorded time stays
}

TEST_F(Stats, TrainingEfficiencyIsMfuAndItsTermsSumToOne) {
  Zero3PerformanceStats stats(0, 2, test_clock);
  ASSERT_TRUE(stats.record_flops(Flops{3e12}, Flops{4e12}));
  example_step(stats);
  EXPECT_FALSE(stats.training_efficiency());
  EXPECT_TRUE(stats.optimization_efficiency().terms.empty());
  ASSERT_TRUE(stats.set_references({.peak = FlopRate{2e12}, .peak_source = "test"}));
  // 3e12 / (1 rank here × 2e12 × 3.5 s)
  EXPECT_NEAR(*stats.training_efficiency(), 3 / 7.0, 1e-12);
  const OptimizationEfficiency e = stats.optimization_efficiency();
  EXPECT_NEAR(*e.hfu, 4 / 7.0, 1e-12);
  EXPECT_FALSE(e.references_too_low);
  ASSERT_EQ(e.terms.size(), 10U);
  EXPECT_NEAR(sum_of_terms(e), 1, 1e-12);
  EXPECT_NEAR(e.terms[1].share, 1 / 7.0, 1e-12);          // recompute: 1e12
  EXPECT_NEAR(e.terms[2].share, (3.2 - 2) / 3.5, 1e-12);  // kernels: 3.2 s for 2 s of peak
  EXPECT_NEAR(e.terms[3].share, 0.3 / 3.5, 1e-12);        // exposed communication
  ASSERT_TRUE(stats.set_references({.peak = FlopRate{1e12}}));
  EXPECT_TRUE(stats.optimization_efficiency().references_too_low);  // 4 s of peak in 3.2 s
}

TEST_F(Stats, TheWaterfallOfManyRanksSumsToOne) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    std::vector<RankWindow> ranks;
    for (int r = 0; r < 3; ++r)
      ranks.push_back(window_of(seed * 3 + static_cast<unsigned>(r), r, 3, 6));
    const JobWindow job = *gather(ranks);
    EXPECT_NEAR(sum_of_terms(optimization_efficiency(job, {.peak = FlopRate{1e6}})), 1, 1e-9);
  }
}

TEST_F(Stats, GoodputLeavesOutSkippedSteps) {
  RankRecorder recorder({});
  recorder.end_step(0, {}, {});
  (void)recorder.take_window();
  const Ns t = recorder.last_step()->end;
  recorder.end_step_at(t + 30ms, 10, {}, {});
  recorder.end_step_at(t + 40ms, 10, {}, {}, true);
  const JobWindow job = *gather(std::vector{recorder.take_window()});
  EXPECT_NEAR(*optimization_efficiency(job).goodput, 0.75, 1e-12);
  EXPECT_EQ(Zero3PerformanceStats(job).optimizer_steps(), 1U);
}

TEST_F(Stats, WhatDurationsCannotTellIsAbsent) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  test_time += 1s;
  ASSERT_TRUE(stats.record_forward_pass(500ms, 0));
  ASSERT_TRUE(stats.record_optimizer_step(100ms, 10));
  const auto json = nlohmann::json::parse(stats_json(stats.performance_summary()));
  EXPECT_TRUE(json["efficiency"]["goodput"].is_null())
      << "no record says that an update was skipped";
  EXPECT_TRUE(json["memory"]["total"].is_null());
  for (const char* rate : {"tokens_per_second", "forward_tokens_per_second",
                           "rolling_tokens_per_second", "decayed_tokens_per_second"})
    EXPECT_TRUE(json["throughput"][rate].is_null()) << rate;
  EXPECT_FALSE(json["throughput"]["step_p50_ns"].is_null());
}

TEST_F(Stats, RollingWindowsAreRatiosOfSums) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  // Steps of 1 s and 100 tokens, then two of 0.1 s and 100 tokens.
  for (int i = 0; i < 20; ++i) {
    test_time += i < 18 ? Ns{1s} : Ns{100ms};
    ASSERT_TRUE(stats.record_forward_pass(1ms, 100));
    ASSERT_TRUE(stats.record_optimizer_step(1ms, 1));
  }
  const auto of = [&](const ThroughputOptions& options) {
    return throughput(stats.window(), options);
  };
  EXPECT_NEAR(*of({.rolling_steps = 4}).rolling_tokens_per_second, 400 / 2.2, 1e-9);
  EXPECT_NEAR(*of({.rolling_time = Seconds{1.15}}).rolling_tokens_per_second, 300 / 1.2, 1e-9);
  EXPECT_NEAR(*of({}).peak_tokens_per_second, 1000 / 8.2, 1e-9);
  EXPECT_FALSE(of({.warm_up_steps = 11}).peak_tokens_per_second);
  EXPECT_NEAR(*of({.decay = Seconds{1e9}}).decayed_tokens_per_second, 2000 / 18.2, 1e-4);
  EXPECT_NEAR(static_cast<double>(of({}).step_p50->count()), 1e9, 1e7);
}

TEST_F(Stats, PrefetchIsWeighedByBytes) {
  RankRecorder recorder({});
  recorder.prefetch(PrefetchOutcome::hit, Bytes{300}, 0ns, 50ns);
  recorder.prefetch(PrefetchOutcome::late, Bytes{60}, 20ns, 50ns);
  recorder.prefetch(PrefetchOutcome::miss, Bytes{40}, 100ns, 100ns);
  recorder.prefetch(PrefetchOutcome::wasted, Bytes{999}, 0ns, 70ns);
  recorder.end_step(1, {}, {});
  const auto e = optimization_efficiency(*gather(std::vector{recorder.take_window()}));
  EXPECT_NEAR(*e.prefetch_hit_rate, 0.75, 1e-12);
  EXPECT_NEAR(*e.prefetch_hidden, 1 - 120.0 / 200, 1e-12);
  EXPECT_EQ(e.prefetch_wasted, Bytes{999});
}

TEST_F(Stats, OverlapEfficiencyIsOneLessStallsOverTimeUnderWay) {
  Zero3PerformanceStats stats(0, 2, test_clock);
  EXPECT_FALSE(stats.communication_stats().overlap_efficiency);
  test_time += 100ms;
  ASSERT_TRUE(
      stats.record_communication(CollectiveKind::all_gather, 80ms, Bytes{100}, {.stall = 20ms}));
  EXPECT_NEAR(*stats.communication_stats().overlap_efficiency, 0.75, 1e-12);
}

// Calls that are reported together after a step overlap in the record, and their waits do not.
TEST_F(Stats, CallsThatAreReportedTogetherHideNothing) {
  Zero3PerformanceStats stats(0, 2, test_clock);
  for (int step = 0; step < 3; ++step) {
    test_time += 30ms;
    ASSERT_TRUE(stats.record_communication(CollectiveKind::all_gather, 4ms, Bytes{100}));
    ASSERT_TRUE(stats.record_communication(CollectiveKind::reduce_scatter, 4ms, Bytes{100}));
  }
  EXPECT_NEAR(*stats.communication_stats().overlap_efficiency, 0, 1e-12);
}

TEST_F(Stats, KnowsLayersByName) {
  Zero3PerformanceStats stats(0, 1, test_clock);
  ASSERT_TRUE(stats.record_layer_execution("h.0", 5ms));
  ASSERT_TRUE(stats.record_layer_execution("h.0", 7ms));
  ASSERT_TRUE(stats.record_layer_backward("h.0", 20ms));
  ASSERT_TRUE(stats.record_layer_recompute("h.0", 6ms));
  ASSERT_TRUE(stats.record_layer_execution("h.1", 1ms));
  const auto layers = stats.layer_timings();
  ASSERT_EQ(layers.size(), 2U);
  const LayerTimingStats& first = layers.at("h.0");
  EXPECT_EQ(first.forward_count, 2U);
  EXPECT_EQ(first.total_forward_time, 12ms);
  EXPECT_EQ(first.average_forward_time, 6ms);
  EXPECT_EQ(first.min_forward_time, 5ms);
  EXPECT_EQ(first.max_forward_time, 7ms);
  EXPECT_EQ(first.average_backward_time, 20ms);
  EXPECT_EQ(first.average_recompute_time, 6ms);
  EXPECT_FALSE(layers.at("h.1").max_recompute_time);
  EXPECT_FALSE(layers.at("h.1").average_backward_time);
}

TEST_F(Stats, ResetForgetsAll) {
  Zero3PerformanceStats stats(1, 2, test_clock);
  example_step(stats);
  ASSERT_TRUE(stats.record_layer_execution("h.0", 5ms));
  stats.reset();
  EXPECT_EQ(stats.forward_passes(), 0U);
  EXPECT_EQ(stats.total_forward_time(), 0ns);
  EXPECT_TRUE(stats.layer_timings().empty());
  EXPECT_FALSE(stats.tokens_per_second());
  EXPECT_FALSE(stats.average_forward_time());
  example_step(stats);
  EXPECT_NEAR(*stats.tokens_per_second(), 1000 / 3.5, 1e-9);
}

TEST_F(Stats, AContinuedWindowNumbersItsCallsOn) {
  Zero3PerformanceStats stats(0, 2, test_clock);
  example_step(stats);
  example_step(stats);
  const auto numbers = [](Zero3PerformanceStats continued) {
    example_step(continued);
    std::vector<std::uint64_t> found;
    for (const Arrival& call : continued.window().ranks[0].arrivals) found.push_back(call.sequence);
    return found;
  };
  EXPECT_EQ(numbers(Zero3PerformanceStats(stats.window(), test_clock)),
            (std::vector<std::uint64_t>{0, 1, 2}));
  JobWindow later = stats.window();  // a stretch of a recorder's
  for (Arrival& call : later.ranks[0].arrivals) call.sequence += 40;
  EXPECT_EQ(numbers(Zero3PerformanceStats(later, test_clock)),
            (std::vector<std::uint64_t>{40, 41, 42}));
  JobWindow folded = stats.window();
  fold_steps(folded);
  EXPECT_EQ(numbers(Zero3PerformanceStats(folded, test_clock)), (std::vector<std::uint64_t>{2}));
}

TEST_F(Stats, AreAViewOverWhatRecordersTook) {
  std::vector<RankWindow> ranks{window_of(1, 0, 2, 5), window_of(2, 1, 2, 5)};
  const Zero3PerformanceStats stats(*gather(ranks));
  const Ns forward = ranks[0].totals.passes[0].time.total + ranks[1].totals.passes[0].time.total;
  EXPECT_EQ(stats.total_forward_time(), forward / 2);
  EXPECT_EQ(stats.forward_passes(),
            std::max(ranks[0].totals.passes[0].time.count, ranks[1].totals.passes[0].time.count));
  EXPECT_EQ(stats.throughput_metrics().tokens, ranks[0].totals.tokens + ranks[1].totals.tokens);
}

TEST_F(Stats, SummaryAsJsonHasEveryFigureAndNullForTheAbsent) {
  Zero3PerformanceStats empty(0, 1, test_clock);
  auto json = nlohmann::json::parse(stats_json(empty.performance_summary()));
  EXPECT_TRUE(json["throughput"]["tokens_per_second"].is_null());
  EXPECT_TRUE(json["efficiency"]["mfu"].is_null());
  EXPECT_TRUE(json["communication"]["efficiency"].is_null());

  std::vector<RankWindow> ranks{window_of(1, 0, 2, 5), window_of(2, 1, 2, 5)};
  Zero3PerformanceStats stats(*gather(ranks));
  ASSERT_TRUE(stats.set_references({.peak = FlopRate{1e6}}));
  const PerformanceSummary summary = stats.performance_summary();
  json = nlohmann::json::parse(stats_json(summary));
  EXPECT_EQ(json["ranks"], 2);
  std::int64_t activities = 0;
  for (const auto& [name, time] : json["activities_ns"].items())
    activities += time.get<std::int64_t>();
  EXPECT_EQ(activities, json["rank_wall_ns"].get<std::int64_t>());
  EXPECT_EQ(json["throughput"]["tokens"], summary.throughput.tokens);
  EXPECT_EQ(json["communication"]["collectives"].size(), summary.communication.kinds.size());
  EXPECT_EQ(json["layers"].size(), 3U);
  EXPECT_EQ(json["efficiency"]["terms"].size(), 10U);
  EXPECT_EQ(json["memory_transfers"]["links"].size(), summary.memory_transfers.links.size());
}

}  // namespace
}  // namespace stepscope

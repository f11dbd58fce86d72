// SPDX-License-Identifier: Apache-2.0
// Random windows for tests: one seed gives the same records, at instants that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "engine/telemetry/rank_recorder.h"
#include "stepscope/stats/quantile_sketch_test_match.h"

namespace stepscope {

struct Builder {
  explicit Builder(std::uint64_t seed, int rank = 0, int world = 1)
      : random(seed),
        recorder({.rank = rank,
                  .world = world,
                  .units = {"embed", "block 0", "block 1"},
                  .groups = {{"world", world}, {"node", 2}},
                  .clock_offset = Ns{rank * 1000}}) {
    // Real instants differ from run to run, so the first step is discarded. The others begin at
    // one instant, as those of the ranks of a job do.
    static const Ns common = host_now() + std::chrono::hours(1);
    recorder.end_step_at(common, 0, {}, {});
    now = origin = common;
    (void)recorder.take_window();
  }

  Ns some(std::uint64_t most) { return Ns{static_cast<std::int64_t>(random() % most)}; }

  void step() {
    for (int i = 0; i < 6; ++i) {
      recorder.enter_at(static_cast<Activity>(random() % activity_count), now);
      now += some(5000);
      record(i);
    }
    recorder.end_step_at(now, static_cast<std::int64_t>(random() % 100), Flops{8}, Flops{9},
                         random() % 5 == 0);
  }

  void record(int i) {
    const Ns begin = now - some(3000);
    const Ns arrival = begin + some(1000);
    const auto bytes = Bytes{static_cast<std::int64_t>(random() % 10000)};
    CollectiveRecord call{
        .kind = i % 2 == 0 ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter,
        .purpose = i % 2 == 0 ? CollectivePurpose::parameters : CollectivePurpose::gradients,
        .group = static_cast<std::uint16_t>(i % 3 == 0 ? 1 : 0),
        .sequence = sequence++,
        .bytes = bytes,
        .submitted = begin,
        .finished = arrival + some(2000),
        .stall = some(500)};
    if (random() % 4 != 0) call.last_arrival = arrival;
    recorder.collective(call);
    recorder.transfer(static_cast<TransferDirection>(random() % transfer_direction_count), bytes,
                      begin, now, random() % 2 == 0);
    recorder.prefetch(static_cast<PrefetchOutcome>(random() % prefetch_outcome_count), bytes,
                      some(10), some(100));
    recorder.layer(
        static_cast<std::uint16_t>(random() % 3),
        std::array{Activity::forward, Activity::backward, Activity::recompute}[random() % 3],
        some(1000));
    recorder.pass(static_cast<TrainingPass>(random() % pass_count), some(9000), 32);
    recorder.memory(static_cast<MemoryClass>(random() % memory_class_count), bytes, bytes);
  }

  std::mt19937_64 random;
  RankRecorder recorder;
  Ns now{};
  Ns origin{};
  std::uint64_t sequence = 0;
};

inline RankWindow window_of(std::uint64_t seed, int rank, int world, int steps) {
  Builder builder(seed, rank, world);
  for (int i = 0; i < steps; ++i) builder.step();
  return builder.recorder.take_window();
}

inline void expect_same(const CollectiveTotals& a, const CollectiveTotals& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.purpose, b.purpose);
  EXPECT_EQ(a.calls, b.calls);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.padding, b.padding);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.stall, b.stall);
  EXPECT_EQ(a.timed_calls, b.timed_calls);
  EXPECT_EQ(a.timed_bytes, b.timed_bytes);
  EXPECT_EQ(a.transfer, b.transfer);
  EXPECT_EQ(a.peer_wait, b.peer_wait);
  EXPECT_EQ(a.peer_stall, b.peer_stall);
  EXPECT_TRUE(test::same_distribution(a.durations, b.durations));
}

// Compares all but instants: two builders of one seed start at different clock times.
inline void expect_same(const RankWindow& a, const RankWindow& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.world, b.world);
  EXPECT_EQ(a.first_step, b.first_step);
  EXPECT_EQ(a.end_step, b.end_step);
  EXPECT_EQ(a.end - a.begin, b.end - b.begin);
  EXPECT_EQ(a.totals, b.totals);
  EXPECT_TRUE(test::same_distribution(a.step_wall, b.step_wall));
  for (std::size_t i = 0; i < pass_count; ++i)
    EXPECT_TRUE(test::same_distribution(a.pass_times[i], b.pass_times[i]));
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.layers, b.layers);
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    EXPECT_EQ(a.collectives[i].group, b.collectives[i].group);
    expect_same(a.collectives[i], b.collectives[i]);
  }
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].index, b.steps[i].index);
    EXPECT_EQ(a.steps[i].activity, b.steps[i].activity);
    EXPECT_EQ(a.steps[i].tokens, b.steps[i].tokens);
    EXPECT_EQ(a.steps[i].skipped, b.steps[i].skipped);
    EXPECT_EQ(a.steps[i].begin - a.begin, b.steps[i].begin - b.begin);
  }
  ASSERT_EQ(a.arrivals.size(), b.arrivals.size());
  for (std::size_t i = 0; i < a.arrivals.size(); ++i) {
    EXPECT_EQ(a.arrivals[i].sequence, b.arrivals[i].sequence);
    EXPECT_EQ(a.arrivals[i].group, b.arrivals[i].group);
    EXPECT_EQ(a.arrivals[i].submitted - a.begin, b.arrivals[i].submitted - b.begin);
  }
}

}  // namespace stepscope

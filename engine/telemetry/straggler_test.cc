// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/straggler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/telemetry/rank_recorder.h"
#include "engine/telemetry/window_bytes.h"
#include "engine/telemetry/window_test_builder.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// A job that works and then reduces several times a step. All ranks wait for one another, so the
// wall time for any set of speeds is known exactly.
struct Simulated {
  JobWindow window;
  Ns wall{};
};

// work[r][k]: ns of rank r before its k-th collective; `calls` of them a step.
Simulated simulate(const std::vector<std::vector<Ns>>& work, std::size_t calls,
                   Ns offset_step = {}) {
  const int ranks = static_cast<int>(work.size());
  std::vector<RankRecorder> recorders;
  std::vector<Ns> origin;
  for (int r = 0; r < ranks; ++r) {
    recorders.emplace_back(RecorderOptions{
        .rank = r, .world = ranks, .groups = {{"world", ranks}}, .clock_offset = offset_step * r});
    recorders.back().end_step(0, {}, {});
    (void)recorders.back().take_window();
  }
  // One clock for the job, and each rank's own reading of it.
  Ns start{};
  for (const RankRecorder& recorder : recorders) start = std::max(start, recorder.last_step()->end);
  start += 1s;
  for (int r = 0; r < ranks; ++r) {
    auto& recorder = recorders[static_cast<std::size_t>(r)];
    recorder.end_step_at(start - offset_step * r, 0, {}, {});
    (void)recorder.take_window();
  }
  Ns now = start;
  constexpr Ns transfer = 100us;
  for (std::size_t k = 0; k < work[0].size(); ++k) {
    Ns last{};
    for (const auto& rank : work) last = std::max(last, now + rank[k]);
    for (std::size_t r = 0; r < work.size(); ++r) {
      const Ns shift = offset_step * static_cast<std::int64_t>(r);
      const Ns arrival = now + work[r][k];
      recorders[r].enter_at(Activity::forward, now - shift);
      recorders[r].enter_at(Activity::wait_reduce, arrival - shift);
      recorders[r].collective({.kind = CollectiveKind::all_reduce,
                               .purpose = CollectivePurpose::gradients,
                               .sequence = k,
                               .bytes = Bytes{1000},
                               .submitted = arrival - shift,
                               .last_arrival = last - shift,
                               .finished = last + transfer - shift,
                               .stall = last + transfer - arrival});
      if (k % calls == calls - 1) recorders[r].end_step_at(last + transfer - shift, 100, {}, {});
    }
    now = last + transfer;
  }
  std::vector<RankWindow> windows;
  for (RankRecorder& recorder : recorders) windows.push_back(recorder.take_window());
  return {.window = *gather(windows), .wall = now - start};
}

std::vector<std::vector<Ns>> even_work(std::size_t ranks, std::size_t calls, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Ns>> work(ranks, std::vector<Ns>(calls));
  for (auto& rank : work)
    for (Ns& w : rank) w = 5ms + Ns{static_cast<std::int64_t>(random() % 200'000)};
  return work;
}

TEST(Stragglers, ASlowRankIsNamedWithWhatItCosts) {
  auto work = even_work(4, 60, 1);
  Ns second{};  // wall time if rank 2 were as fast as the others
  for (std::size_t k = 0; k < 60; ++k) {
    work[2][k] += 3ms;
    second += std::max({work[0][k], work[1][k], work[3][k]}) + 100us;
  }
  for (const Ns offset : {Ns{0}, Ns{-7s}}) {  // clocks of different hosts, aligned
    const Simulated job = simulate(work, 3, offset);
    const auto late = late_ranks(job.window);
    ASSERT_FALSE(late.empty());
    EXPECT_EQ(late[0].rank, 2);
    EXPECT_TRUE(late[0].persistent);
    EXPECT_EQ(late[0].steps, 20);
    EXPECT_EQ(late[0].latest_steps, 20);
    EXPECT_EQ(late[0].last, 60U);
    EXPECT_EQ(late[0].cost, job.wall - second);
    EXPECT_NEAR(*late[0].tokens_per_second, 20 * 400 / seconds(job.wall).count(), 1e-6);
    EXPECT_NEAR(*late[0].tokens_per_second_without, 20 * 400 / seconds(second).count(), 1e-6);
    for (std::size_t i = 1; i < late.size(); ++i) EXPECT_FALSE(late[i].persistent);
  }
}

TEST(Stragglers, NoiseNamesNobody) {
  const Simulated job = simulate(even_work(4, 60, 2), 3);
  for (const PersistentStraggler& rank : late_ranks(job.window)) EXPECT_FALSE(rank.persistent);
}

TEST(Stragglers, OneBadStepIsNotPersistent) {
  auto work = even_work(4, 60, 3);
  work[1][30] += 80ms;
  const auto late = late_ranks(simulate(work, 3).window);
  ASSERT_FALSE(late.empty());
  EXPECT_EQ(late[0].rank, 1);
  EXPECT_GT(late[0].cost, 79ms);
  EXPECT_FALSE(late[0].persistent);
}

TEST(Stragglers, AHiddenDelayCostsNothing) {
  // Rank 1 comes 3 ms late, but rank 0's main thread never waited.
  std::vector<RankRecorder> recorders;
  for (int r = 0; r < 2; ++r)
    recorders.emplace_back(RecorderOptions{.rank = r, .world = 2, .groups = {{"world", 2}}});
  const Ns t = recorders[0].now() + 1s;
  for (std::size_t r = 0; r < 2; ++r) {
    recorders[r].end_step_at(t, 0, {}, {});
    (void)recorders[r].take_window();
    const Ns arrival = r == 0 ? t : t + 3ms;
    recorders[r].collective({.kind = CollectiveKind::all_gather,
                             .submitted = arrival,
                             .finished = t + 4ms,
                             .stall = r == 0 ? Ns{} : Ns{1ms}});
    recorders[r].end_step_at(t + 10ms, 50, {}, {});
  }
  const auto late =
      late_ranks(*gather(std::vector{recorders[0].take_window(), recorders[1].take_window()}));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].rank, 1);
  EXPECT_EQ(late[0].late, 3ms);
  EXPECT_EQ(late[0].cost, 0ns);
}

TEST(Stragglers, ClocksThatDisagreeByLessThanTheirUncertaintyNameNobody) {
  auto work = even_work(2, 20, 4);
  for (Ns& w : work[1]) w += 400us;
  const Simulated job = simulate(work, 2);
  EXPECT_TRUE(late_ranks(job.window, {.clock_uncertainty = 1ms}).empty());
}

TEST(WindowBytes, GoThereAndBack) {
  std::vector<std::byte> bytes;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const RankWindow window = window_of(seed, 1, 3, static_cast<int>(seed % 5));
    encode(window, bytes);
    bytes.resize(bytes.size() + seed, std::byte{0x5A});  // padding of a collective
    const auto back = decode_window(bytes);
    ASSERT_TRUE(back) << back.error().message();
    expect_same(*back, window);
    EXPECT_EQ(back->begin, window.begin);
    EXPECT_EQ(back->arrivals, window.arrivals);
    EXPECT_EQ(back->steps, window.steps);
    EXPECT_EQ(back->clock_offset, window.clock_offset);
  }
}

// The count of unnamed groups is their calls over their size.
TEST(WindowBytes, UnnamedGroupsOfNoRankAreRefused) {
  RankWindow window = window_of(4, 0, 2, 3);
  window.groups.push_back({"group of 2", 2, true});
  std::vector<std::byte> bytes;
  encode(window, bytes);
  EXPECT_TRUE(decode_window(bytes));
  for (const int size : {0, -1}) {
    window.groups.back().size = size;
    encode(window, bytes);
    EXPECT_FALSE(decode_window(bytes)) << size;
  }
}

TEST(WindowBytes, DamageIsAnErrorOrAWindowNeverACrash) {
  std::vector<std::byte> bytes;
  encode(window_of(4, 0, 2, 3), bytes);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7)
    EXPECT_FALSE(decode_window(std::span(bytes).first(cut)));
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    auto damaged = bytes;
    for (int k = 0; k < 3; ++k)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random() % 256);
    const auto back = decode_window(damaged);
    if (back) (void)gather(std::vector{*back});
  }
  std::vector<std::byte> other(100);
  const auto error = decode_window(other);
  ASSERT_FALSE(error);
  EXPECT_NE(error.error().message().find("not a window of statistics"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

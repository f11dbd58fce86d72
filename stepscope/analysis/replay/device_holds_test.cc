// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "stepscope/analysis/graph/stream_order.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

constexpr Ns microsecond{1'000};

// Stretches of these lengths. Work is ready `ready` after each begins.
std::vector<IdleStretch> stretches(std::span<const Ns> lengths, Ns ready) {
  std::vector<IdleStretch> all;
  Ns at{};
  for (const Ns length : lengths) {
    all.push_back({at, at + length, at + std::min(ready, length)});
    at += length + 100 * microsecond;
  }
  return all;
}

TEST(DeviceHolds, AreStretchesOfOneLength) {
  std::vector<Ns> lengths(20, 2'400 * microsecond);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] += static_cast<int>(i % 5) * 10 * microsecond;
  lengths[3] = 4'800 * microsecond;  // launched late: two slices
  lengths[7] = 60 * microsecond;     // launched at once: the device was not taken
  const auto held = find_holds(stretches(lengths, 100 * microsecond));
  EXPECT_EQ(held.size(), 18U);
  EXPECT_EQ(std::ranges::count(held, 3U) + std::ranges::count(held, 7U), 0);
}

TEST(DeviceHolds, AreNotWhereTheLaunchComesLate) {
  const std::vector<Ns> lengths(20, 2'400 * microsecond);
  EXPECT_TRUE(find_holds(stretches(lengths, 2'399 * microsecond)).empty());
  EXPECT_TRUE(find_holds(stretches(std::vector<Ns>(9, 2'400 * microsecond), Ns{0})).empty());
  EXPECT_TRUE(find_holds(stretches(std::vector<Ns>(20, 400 * microsecond), Ns{0})).empty());
  EXPECT_TRUE(find_holds({}).empty());
}

TEST(DeviceHolds, AreNotWhereStretchesDiffer) {
  std::mt19937 random(3);
  std::vector<Ns> lengths;
  for (int i = 0; i < 40; ++i)
    lengths.push_back((1'000 + static_cast<int>(random() % 2'000)) * microsecond);
  EXPECT_TRUE(find_holds(stretches(lengths, Ns{0})).empty());
}

// A host that launches a kernel of 50 µs, waits for it and continues for a while, 20 times; every
// fourth time at once. If the device is `shared` and was idle long enough to be taken, it starts
// the next kernel after 2.4 ms.
TestRank launching_rank(bool shared) {
  TestRank rank;
  auto& rows = rank.rows();
  std::mt19937 random(11);
  std::int64_t host = 0;
  std::int64_t device = 0;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    rows.launch(i, host, host + 3'000);
    std::int64_t start = host + 8'000;
    if (shared && i > 1 && start - device >= 20'000) start = std::max(start, device + 2'400'000);
    device = start + 50'000;
    rows.kernel("sgemm", start, device, i);
    rows.row(rows.thread(1), Category::runtime, "cudaStreamSynchronize", host + 4'000,
             device + 1'000);
    host = device + 2'000;
    if (i % 4 != 0) host += 10'000 + static_cast<std::int64_t>(random() % 1'000'000);
  }
  rows.step("ProfilerStep#1", 0, host);
  return rank;
}

std::vector<TestRank> one(TestRank rank) {
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(rank));
  return ranks;
}

struct Explained {
  TestJob job;
  Collectives collectives;
  std::vector<HostPhases> phases;
  Explanation explanation;

  explicit Explained(bool shared) : job(one(launching_rank(shared))) {
    collectives = analyze_collectives(job.views());
    for (const RankView& view : job.views())
      phases.push_back(host_phases(*view.trace, *view.index, view.steps));
    const std::vector<std::string> roles = {""};
    explanation = *explain({.views = job.views(),
                            .collectives = collectives,
                            .roles = roles,
                            .phases = phases,
                            .units = {},
                            .scenarios = {}});
  }
  [[nodiscard]] const WhatIf* alone() const {
    for (const WhatIf& w : explanation.what_ifs)
      if (w.scenario.change == Change::device_alone) return &w;
    return nullptr;
  }
};

TEST(DeviceHolds, ExplainWhyWorkWaitsForAnIdleDevice) {
  const Explained shared(true);
  const Explained alone(false);
  EXPECT_FALSE(shared.explanation.refused);
  EXPECT_LT(std::abs(shared.explanation.residual_share), 0.001);
  ASSERT_EQ(shared.explanation.held.size(), 1U);
  EXPECT_EQ(shared.explanation.held[0].slice, Ns{2'400'000});
  EXPECT_EQ(shared.explanation.held[0].count, 15U);
  ASSERT_NE(shared.alone(), nullptr);
  // Without the other process the step takes as long as on a device of its own.
  EXPECT_NEAR(static_cast<double>(shared.alone()->step.count()),
              static_cast<double>(alone.explanation.step.count()), 20'000);
  EXPECT_TRUE(alone.explanation.held.empty());
  EXPECT_EQ(alone.alone(), nullptr);
}

}  // namespace
}  // namespace stepscope

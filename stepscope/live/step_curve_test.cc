// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/step_curve.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace stepscope {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

StepSample step(double ns, double transfer = unknown, double wait = unknown) {
  return {.wall_ns = ns, .transfer_ns = transfer, .wait_ns = wait};
}

TEST(StepCurve, MergesPointsAndKeepsTheirSums) {
  StepCurve curve;
  double sum = 0;
  for (int i = 1; i <= 100'000; ++i) {
    curve.add(step(i));
    sum += i;
  }
  EXPECT_LE(curve.points().size(), StepCurve::most_points);
  EXPECT_GT(curve.points().size(), StepCurve::most_points / 4);
  double kept = 0;
  std::int64_t steps = 0, last = 0;
  for (const CurvePoint& p : curve.points()) {
    kept += p.sum_ns;
    steps += p.steps;
    EXPECT_GT(p.last, last);
    EXPECT_DOUBLE_EQ(p.least_ns, static_cast<double>(last) + 1);
    EXPECT_DOUBLE_EQ(p.most_ns, static_cast<double>(p.last));
    last = p.last;
  }
  EXPECT_DOUBLE_EQ(kept, sum);
  EXPECT_EQ(steps, 100'000);
  EXPECT_EQ(curve.steps(), 100'000);
}

TEST(StepCurve, TellsAChangeOnceWithWhatGrew) {
  StepCurve curve;
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 1e6);
  std::vector<StepChange> found;
  const auto look = [&] {
    if (const auto change = curve.take_change()) found.push_back(*change);
  };
  for (int i = 0; i < 400; ++i) {
    curve.add(step(200e6 + noise(random), 20e6, 10e6));
    look();
  }
  EXPECT_TRUE(found.empty());
  for (int i = 0; i < 400; ++i) {
    curve.add(step(260e6 + noise(random), 75e6, 12e6));
    look();
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found[0].step), 401, 2);
  EXPECT_NEAR(found[0].before_ns, 200e6, 1e6);
  EXPECT_NEAR(found[0].after_ns, 260e6, 1e6);
  ASSERT_TRUE(found[0].transfer_ns && found[0].wait_ns);
  EXPECT_NEAR(*found[0].transfer_ns, 55e6, 5e6);
  EXPECT_NEAR(*found[0].wait_ns, 2e6, 1e6);
}

TEST(StepCurve, SaysNothingOfPartsThatAreUnknown) {
  StepCurve curve;
  for (int i = 0; i < 40; ++i) curve.add(step(100e6 + i % 3));
  for (int i = 0; i < 40; ++i) curve.add(step(150e6 + i % 3));
  const auto change = curve.take_change();
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->transfer_ns);
  EXPECT_FALSE(change->wait_ns);
}

TEST(StepCurve, KeepsTheNumbersOfALog) {
  StepCurve curve;
  curve.add({.wall_ns = 5, .steps = 10, .iteration = 110, .transfer_ns = 0, .wait_ns = 0});
  EXPECT_EQ(curve.last(), 110);
  EXPECT_EQ(curve.points().back().last, 110);
  EXPECT_EQ(curve.recent_ns(), 5);
  EXPECT_EQ(StepCurve().recent_ns(), std::nullopt);
}

std::vector<std::uint64_t> repeated(const std::vector<std::uint64_t>& unit, std::size_t length) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < length; ++i) out.push_back(unit[i % unit.size()]);
  return out;
}

TEST(FindPeriod, FindsTheSmallest) {
  EXPECT_EQ(find_period(repeated({5, 5, 5, 1}, 40)), 4U);
  EXPECT_EQ(find_period(repeated({5}, 40)), 1U);
  EXPECT_EQ(find_period(repeated({1, 2, 1, 2, 1, 2, 1, 3}, 64)), 8U);
}

TEST(FindPeriod, IgnoresWhatCameBefore) {
  auto values = std::vector<std::uint64_t>{9, 9, 8, 7};
  for (const std::uint64_t v : repeated({1, 2, 3}, 30)) values.push_back(v);
  EXPECT_EQ(find_period(values), 3U);
}

TEST(FindPeriod, NeedsThreeRepetitionsAndEnoughValues) {
  EXPECT_EQ(find_period(repeated({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 29)), std::nullopt);
  EXPECT_EQ(find_period(repeated({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 30)), 10U);
  EXPECT_EQ(find_period(repeated({1}, 23)), std::nullopt);
  EXPECT_EQ(find_period({}), std::nullopt);
  std::vector<std::uint64_t> never;
  for (std::uint64_t i = 0; i < 100; ++i) never.push_back(i * i);
  EXPECT_EQ(find_period(never), std::nullopt);
}

}  // namespace

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/live_communicator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace stepscope {
namespace {

constexpr double step_ns = 200e6;

TEST(TransferRule, LongerTransfersAreToldWithinTenRoundsAndUntilTheyEnd) {
  for (const double slow : {1.7, 4.0}) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    TransferRule rule;
    const auto round = [&](double times) {
      rule.add(10e6 * times * (1 + 0.02 * normal(random)), step_ns);
    };
    for (int i = 0; i < 60; ++i) round(1);
    EXPECT_FALSE(rule.longer());
    for (int i = 0; i < 10; ++i) round(slow);
    ASSERT_TRUE(rule.longer()) << slow;
    EXPECT_NEAR(rule.before_ns(), 10e6, 0.3e6);
    EXPECT_NEAR(rule.now_ns(), 10e6 * slow, 0.3e6 * slow);
    for (int i = 0; i < 500; ++i) round(slow);
    EXPECT_TRUE(rule.longer()) << "what is longer does not become usual";
    EXPECT_NEAR(rule.before_ns(), 10e6, 0.3e6);
    for (int i = 0; i < 8; ++i) round(1);
    EXPECT_FALSE(rule.longer());
  }
}

TEST(TransferRule, LessThanThreeHundredthsOfTheStepAreNotTold) {
  TransferRule rule;
  for (int i = 0; i < 60; ++i) rule.add(10e6, step_ns);
  for (int i = 0; i < 100; ++i) rule.add(15e6, step_ns);
  EXPECT_FALSE(rule.longer());
}

// A shared network: transfers vary by a third, and now and then one takes ten times as long.
TEST(TransferRule, AnUnsteadyNetworkIsUsual) {
  int told = 0;
  for (int job = 0; job < 200; ++job) {
    std::mt19937_64 random(static_cast<std::uint64_t>(job));
    std::uniform_real_distribution<double> share(0, 1);
    std::normal_distribution<double> normal;
    const double noise = 0.33 * share(random);
    const double bursts = 0.1 * share(random);
    TransferRule rule;
    bool longer = false;
    for (int i = 0; i < 2000; ++i) {
      const double burst = share(random) < bursts ? 1 + 9 * share(random) : 1;
      rule.add(20e6 * burst * std::exp(noise * normal(random)), step_ns);
      longer |= rule.longer();
    }
    told += longer ? 1 : 0;
  }
  EXPECT_LE(told, 2);
}

TEST(TransferRule, ShorterUnknownAndUntimedRoundsAreNoEvidence) {
  TransferRule rule;
  for (int i = 0; i < 60; ++i) rule.add(50e6, step_ns);
  for (int i = 0; i < 40; ++i) rule.add(20e6, step_ns);
  for (int i = 0; i < 40; ++i) rule.add(std::numeric_limits<double>::quiet_NaN(), step_ns);
  for (int i = 0; i < 40; ++i) rule.add(500e6, 0);
  EXPECT_FALSE(rule.longer());
}

}  // namespace

}  // namespace stepscope

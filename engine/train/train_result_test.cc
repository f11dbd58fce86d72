// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_result.h"

#include <gtest/gtest.h>

#include "engine/train/train_test_result.h"

namespace stepscope {
namespace {

TEST(TrainResult, RatesLeaveTheFirstStepOut) {
  const TrainRates rates = train_rates(train_test::run());
  EXPECT_DOUBLE_EQ(rates.step_ns, 100e6);
  EXPECT_DOUBLE_EQ(rates.tokens_per_second, 10240);
  EXPECT_DOUBLE_EQ(*rates.mfu, 12e9 / (2 * 100e9 * 0.1));
  EXPECT_DOUBLE_EQ(*rates.hfu, 16e9 / (2 * 100e9 * 0.1));
}

// A rank begins the next step while another is still in the one before.
TEST(TrainResult, TimeInTwoStepsAtOnceCountsOnce) {
  TrainResult r = train_test::run();
  r.steps[1].added = Ns{80'000'000};  // also in the step that is left out
  r.steps[2].added = Ns{60'000'000};
  const TrainRates rates = train_rates(r);
  EXPECT_DOUBLE_EQ(rates.step_ns, 80e6);
  EXPECT_DOUBLE_EQ(rates.tokens_per_second, 2048 / 0.16);
  EXPECT_DOUBLE_EQ(*rates.mfu, 12e9 / (2 * 100e9 * 0.08));
}

TEST(TrainResult, WithoutStepsThereIsNoRate) {
  EXPECT_FALSE(train_rates({}).mfu);
  EXPECT_EQ(train_rates({}).step_ns, 0);
}

TEST(TrainResult, SharesOfWhatIsHiddenLieBetweenZeroAndOne) {
  TrainIsolation::Rank rank{.exposed = Ns{-1}, .compute = Ns{90}, .communication = Ns{100}};
  EXPECT_EQ(rank.hidden_share(), 1);
  EXPECT_EQ(rank.efficiency(), 1);
  rank.exposed = Ns{120};
  EXPECT_EQ(rank.hidden_share(), 0);
  EXPECT_EQ(rank.efficiency(), 0);
}

}  // namespace
}  // namespace stepscope

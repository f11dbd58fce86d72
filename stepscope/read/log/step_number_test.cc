// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_number.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(StepNumber, StandsBehindAWordOfItsOwn) {
  const StepNumber of_epoch = number_of_step(
      "core.trainer:after_iter:238 - epoch: 48/300, iter: 5890/7393, iter_time: 0.5s");
  EXPECT_EQ(of_epoch.number, 5890);
  EXPECT_EQ(of_epoch.of, 7393);
  EXPECT_EQ(of_epoch.epoch, 48);
  EXPECT_EQ(number_of_step("trainer:step:12 - step 3: step_time_ms=4").number, 3);
  EXPECT_EQ(number_of_step("app.step:12 step_time_ms=4").number, -1);
  EXPECT_EQ(number_of_step("[rank0]:step=7 step_time_ms=4").number, 7);
  EXPECT_EQ(number_of_step(R"({"epoch": 0.5, "global_step": 9, "step_time_ms": 4})").number, 9);
  EXPECT_FALSE(number_of_step(R"({"epoch": 0.5, "global_step": 9})").epoch);
  EXPECT_EQ(number_of_step("Epoch [2/3] Step [10/50] step_time_ms=4").number, 10);
  EXPECT_EQ(number_of_step("step 3 of part, step 5/9").number, 5);
  EXPECT_EQ(number_of_step("step 1.5").number, -1);
}

TEST(StepNumber, GoesOnInTheNextEpoch) {
  EpochCount count;
  EXPECT_EQ(continued(count, {.number = 90, .of = 100, .epoch = 4}), 90);
  EXPECT_EQ(continued(count, {.number = 10, .of = 100, .epoch = 5}), 110);
  EXPECT_EQ(continued(count, {.number = 20, .of = 100, .epoch = 5}), 120);
  EXPECT_EQ(continued(count, {.number = 10, .of = 100, .epoch = 7}), 310);
  EXPECT_EQ(continued(count, {.number = 30, .of = 100, .epoch = 4}), 30) << "another launch";
  EpochCount unknown;
  EXPECT_EQ(continued(unknown, {.number = 90, .epoch = 0}), 90);
  EXPECT_EQ(continued(unknown, {.number = 10, .epoch = 1}), 100);
  EpochCount global;
  EXPECT_EQ(continued(global, {.number = 90, .epoch = 0}), 90);
  EXPECT_EQ(continued(global, {.number = 100, .epoch = 1}), 100);
  EXPECT_EQ(continued(global, {}), -1);
}

}  // namespace
}  // namespace stepscope

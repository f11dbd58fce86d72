// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/line_numbers.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(StepNumber, StandsBehindAWordOfItsOwn) {
  EXPECT_EQ(number_of_step(
                "core.trainer:after_iter:238 - epoch: 48/300, iter: 5890/7393, iter_time: 0.5s"),
            5890);
  EXPECT_EQ(number_of_step("trainer:step:12 - step 3: step_time_ms=4"), 3);
  EXPECT_EQ(number_of_step("app.step:12 step_time_ms=4"), -1);
  EXPECT_EQ(number_of_step("[rank0]:step=7 step_time_ms=4"), 7);
  EXPECT_EQ(number_of_step(R"({"epoch": 0.5, "global_step": 9, "step_time_ms": 4})"), 9);
  EXPECT_EQ(number_of_step("Epoch [2/3] Step [10/50] step_time_ms=4"), 10);
  EXPECT_EQ(number_of_step("step 3 of part, step 5/9"), 5);
  EXPECT_EQ(number_of_step("step 1.5"), -1);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/calibrate.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Calibrate, StopsBeforeItMeasures) {
  StopFlag stop;
  stop.request();
  const auto result = calibrate({.quick = true, .stop = &stop});
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().code == ErrorCode::interrupted);
}

}  // namespace
}  // namespace stepscope

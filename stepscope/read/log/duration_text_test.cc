// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/duration_text.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(DurationText, OfClocksAndOfUnits) {
  EXPECT_EQ(seconds_of_duration("01:23"), 83);
  EXPECT_EQ(seconds_of_duration(" 1:02:03 "), 3723);
  EXPECT_EQ(seconds_of_duration("100:00:00"), 360000);
  EXPECT_EQ(seconds_of_duration("1 day, 5:14:24"), 86400 + 18864);
  EXPECT_EQ(seconds_of_duration("3 days, 0:00:01"), 3 * 86400 + 1);
  EXPECT_EQ(seconds_of_duration("1d 2h 3m 4s"), 86400 + 7384);
  EXPECT_EQ(seconds_of_duration("1m29s"), 89);
  EXPECT_EQ(seconds_of_duration("8.5s"), 8.5);
  EXPECT_EQ(seconds_of_duration("613ms"), 0.613);
}

TEST(DurationText, OtherTextIsNone) {
  for (const char* text : {"", "12", "1:75", "1:2:3:4", "-5s", "5 apples", "inf:10", "1:", "1m 29",
                           "nan s", "?", "1e300s"})
    EXPECT_FALSE(seconds_of_duration(text)) << text;
}

}  // namespace
}  // namespace stepscope

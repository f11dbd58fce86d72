// SPDX-License-Identifier: Apache-2.0
#include "stepscope/metrics/metric_text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <string>

namespace stepscope {
namespace {

TEST(MetricText, NumbersReadBackTheSame) {
  for (const double x : {0.0, 1.0, 0.1, 1e300, 5e-324, -2.5, 123456789.125}) {
    const std::string text = metric_number(x);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, x);
  }
  EXPECT_EQ(metric_number(5, true), "5.0");
  EXPECT_EQ(metric_number(0.05, true), "0.05");
  EXPECT_EQ(metric_number(INFINITY), "+Inf");
  EXPECT_TRUE(valid_metric_name("a_b:c9"));
  EXPECT_FALSE(valid_metric_name("9a"));
  EXPECT_FALSE(valid_metric_name("a-b"));
  EXPECT_FALSE(valid_metric_name(""));
}

}  // namespace
}  // namespace stepscope

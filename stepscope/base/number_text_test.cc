// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace stepscope {
namespace {

TEST(NumberText, IsTheWholeText) {
  EXPECT_EQ(number_of<int>("-12"), -12);
  EXPECT_EQ(number_of<std::uint32_t>("ff", 16), 255U);
  EXPECT_EQ(number_of<double>("1.5e3"), 1500);
  EXPECT_EQ(number_of<double>("0.1"), 0.1);
  for (const char* none : {"", " 1", "1 ", "+1", "1.5", "-", "99999999999", "one"})
    EXPECT_FALSE(number_of<int>(none)) << none;
}

TEST(NumberText, BeginsTheText) {
  EXPECT_EQ(leading_number<int>("12ms"), 12);
  EXPECT_EQ(leading_number<double>("1.8p1", 16), 3);
  EXPECT_FALSE(leading_number<int>("ms"));
  EXPECT_FALSE(leading_number<int>({}));
}

TEST(NumberText, IsTakenFromTheText) {
  std::string_view text = "1.25 s";
  EXPECT_EQ(take_number<double>(text), 1.25);
  EXPECT_EQ(text, " s");
  EXPECT_FALSE(take_number<double>(text));
  EXPECT_EQ(text, " s");
}

TEST(NumberText, OutOfRangeHasAnError) {
  const auto large = number_at_front<std::int64_t>("99999999999999999999,1");
  EXPECT_EQ(large.error, std::errc::result_out_of_range);
  EXPECT_EQ(large.rest, ",1");
  EXPECT_EQ(number_at_front<double>("x").error, std::errc::invalid_argument);
  EXPECT_EQ(number_of<std::int64_t>("-9223372036854775808"),
            std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace stepscope

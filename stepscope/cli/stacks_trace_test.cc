// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/stacks_trace.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(StacksTraceFlags, SecondsAreReadExactly) {
  EXPECT_EQ(parse_seconds("1700000000.123456789"), Ns{1'700'000'000'123'456'789});
  EXPECT_EQ(parse_seconds("-0.25"), Ns{-250'000'000});
  EXPECT_EQ(parse_seconds("+12"), Ns{12'000'000'000});
  EXPECT_EQ(parse_seconds("9223372036.854775807"), Ns::max());
  for (const char* wrong : {"", "-", ".5", "5.", "1e3", "9223372036.854775808", "12345678901",
                            "1.0000000001", "1 ", "--1", "nan"})
    EXPECT_FALSE(parse_seconds(wrong)) << wrong;
}

TEST(StacksTraceFlags, OneRankAProfileOrOneForAll) {
  const std::vector<std::string> profiles = {"a.txt", "b.txt"};
  StacksTraceFlags one;
  one.traces.request.inputs = {"trace.json"};
  one.ranks = {3};
  ASSERT_TRUE(resolve(one, profiles));
  EXPECT_EQ(one.rank_of.at("b.txt"), 3);
  StacksTraceFlags two = one;
  two.ranks = {3, 5};
  ASSERT_TRUE(resolve(two, profiles));
  EXPECT_EQ(two.rank_of.at("a.txt"), 3);
  EXPECT_EQ(two.rank_of.at("b.txt"), 5);
  two.ranks = {1, 2, 3};
  EXPECT_FALSE(resolve(two, profiles));
}

TEST(StacksTraceFlags, WithoutATraceTheySayNothing) {
  StacksTraceFlags flags;
  EXPECT_TRUE(resolve(flags, {}));
  flags.offset_text = "1";
  EXPECT_FALSE(resolve(flags, {}));
}

}  // namespace
}  // namespace stepscope

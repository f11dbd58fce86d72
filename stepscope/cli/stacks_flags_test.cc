// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/stacks_flags.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(StacksFlags, SecondsAreReadExactly) {
  EXPECT_EQ(parse_seconds("1700000000.123456789"), Ns{1'700'000'000'123'456'789});
  EXPECT_EQ(parse_seconds("-0.25"), Ns{-250'000'000});
  EXPECT_EQ(parse_seconds("+12"), Ns{12'000'000'000});
  EXPECT_EQ(parse_seconds("9223372036.854775807"), Ns::max());
  for (const char* wrong : {"", "-", ".5", "5.", "1e3", "9223372036.854775808", "12345678901",
                            "1.0000000001", "1 ", "--1", "nan"})
    EXPECT_FALSE(parse_seconds(wrong)) << wrong;
}

TEST(StacksFlags, WithoutATraceTheyOfTheTraceSayNothing) {
  StacksFlags flags;
  EXPECT_TRUE(stacks_request(flags));
  flags.offset = "1";
  EXPECT_FALSE(stacks_request(flags));
  flags.traces.request.inputs = {"trace.json"};
  ASSERT_TRUE(stacks_request(flags));
  EXPECT_EQ(stacks_request(flags)->offset, Ns{1'000'000'000});
}

}  // namespace
}  // namespace stepscope

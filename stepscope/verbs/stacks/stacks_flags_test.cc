// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_flags.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(StacksFlags, WithoutATraceTheyOfTheTraceSayNothing) {
  StacksFlags flags;
  EXPECT_TRUE(stacks_request(flags));
  flags.offset = "1s";
  EXPECT_FALSE(stacks_request(flags));
  flags.traces.request.inputs = {"trace.json"};
  ASSERT_TRUE(stacks_request(flags));
  EXPECT_EQ(stacks_request(flags)->offset, Ns{1'000'000'000});
  flags.offset = "1.5";
  EXPECT_EQ(stacks_request(flags)->offset, Ns{1'500'000'000});
  flags.offset = "1h";
  EXPECT_FALSE(stacks_request(flags));
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/last_calls.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(LastCalls, AreTheLatestOverAllGroupsAndKinds) {
  CommRecords records;
  records.rank_numbered(0);
  records.rank_numbered(1);
  const std::uint32_t a = records.group_keyed("a");
  const std::uint32_t b = records.group_keyed("b");
  records.sequence_of(a, 0).collectives = {{.sequence = 1, .position = 0},
                                           {.sequence = 2, .position = 3}};
  records.sequence_of(a, 0).pairs = {{.sequence = 7, .position = 1}};
  records.sequence_of(b, 0).collectives = {{.sequence = 9, .position = 2}};
  const auto calls = last_calls(records);
  ASSERT_EQ(calls.size(), 1U);  // rank 1 has none
  EXPECT_EQ(calls[0].rank, 0U);
  EXPECT_EQ(calls[0].calls, 4U);
  EXPECT_EQ(calls[0].group, a);
  EXPECT_EQ(calls[0].call.sequence, 2);
}

}  // namespace
}  // namespace stepscope

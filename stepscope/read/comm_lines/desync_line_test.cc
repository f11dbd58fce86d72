// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/comm_lines/desync_line.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(DesyncLine, NamesTheRanksThatDidNotCome) {
  auto said = parse_desync(" - [4] Timeout at collective: _ALLGATHER_BASE, #31");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, DesyncKind::timeout);
  EXPECT_EQ(said->operation, "_ALLGATHER_BASE");
  EXPECT_EQ(said->collective, 31);
  EXPECT_EQ(said->ranks, (std::vector<int>{4}));
  said = parse_desync(
      "[1, 12] finished collective #30, but didn't join collective #31 (count from 1)");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, DesyncKind::not_joined);
  EXPECT_EQ(said->ranks, (std::vector<int>{1, 12}));
  EXPECT_EQ(said->collective, 31);
  said = parse_desync("   - [3] joined but didn't finish collective #31 (count from 1)");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, DesyncKind::unfinished);
  EXPECT_EQ(said->collective, 31);
  said = parse_desync(
      " - To our best knowledge, ranks [5] are the lagging ranks that caused this timeout. They "
      "never joined any collectives");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, DesyncKind::never);
  EXPECT_EQ(said->ranks, (std::vector<int>{5}));
}

TEST(DesyncLine, IsNoneInOtherText) {
  for (const char* line :
       {"[x] Timeout at collective: ALLREDUCE, #3", "[1] Timeout at collective: ALLREDUCE",
        "[] finished collective #2, but didn't join collective #3", "rank 1 never joined"})
    EXPECT_FALSE(parse_desync(line)) << line;
}

}  // namespace
}  // namespace stepscope

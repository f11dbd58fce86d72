// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/comm_lines/nccl_line.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(NcclLine, IsReadWithoutItsProcess) {
  struct Excerpt {
    const char* line;
    const char* host;
    const char* text;
  };
  for (const Excerpt& e :
       {Excerpt{"[3] include/shm.h:28 NCCL WARN Call failed", "", "Call failed"},
        Excerpt{"[3] NCCL INFO a.h:41 -> 2", "", "a.h:41 -> 2"},
        Excerpt{"node7 [3] misc/socket.cc:46 NCCL WARN x", "node7", "x"},
        Excerpt{"2025-11-24T03:20:21.001Z [2025-11-24 11:20:21] node7 [3] a.cc:4 (f) NCCL WARN x",
                "node7", "x"},
        Excerpt{"2025-11-24 03:20:21 [3] NCCL INFO x", "", "x"}}) {
    std::vector<NcclSaying> said;
    split_sayings(e.line, {}, said);
    ASSERT_EQ(said.size(), 1U) << e.line;
    EXPECT_EQ(said[0].host, e.host) << e.line;
    EXPECT_EQ(said[0].pid, 0) << e.line;
    EXPECT_EQ(said[0].device, 3) << e.line;
    EXPECT_EQ(said[0].text, e.text) << e.line;
  }
  for (const char* line : {"see NCCL WARN lines", "item [3] of NCCL INFO lines"}) {
    std::vector<NcclSaying> said;
    split_sayings(line, {}, said);
    EXPECT_TRUE(said.empty()) << line;
  }
}

TEST(NcclLine, HasTheGroupOfATimeoutWhoseLineIsCut) {
  const auto said = parse_watchdog(
      "[rank6]:[E1130 a.cpp:1785] [PG ID 2 PG GUID 9(dp) Rank 2] Exception (either an");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->rank, 6);
  EXPECT_EQ(said->place, 2);
  EXPECT_EQ(said->group, "9");
  EXPECT_EQ(said->sequence, -1);
  EXPECT_FALSE(said->timeout || said->gave_up);
  // The last number of a cut line may lack digits.
  EXPECT_EQ(parse_watchdog("[rank6]: [PG 9 Rank 2] Timeout at NCCL work: 61")->sequence, -1);
  EXPECT_FALSE(parse_watchdog("[rank6]: [PG ID 2 PG GUID 9 Rank 2] ProcessGroupNCCL destructor"));
  EXPECT_FALSE(parse_watchdog("[rank6]: Exception (either an error or timeout)"));
}

}  // namespace
}  // namespace stepscope

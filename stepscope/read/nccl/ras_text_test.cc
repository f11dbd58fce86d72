// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/ras_text.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

const std::string summary =
    "NCCL version 2.27.3 compiled with CUDA 12.9\n\nJob summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n      2          4            1          "
    "8       8\n"
    "\nCommunicators... (0.00s)\n=============\n\nGroup     Comms     Nodes     Ranks     Ranks    "
    " Ranks    "
    "Status  Errors\n    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         2         4         8         8   RUNNING  "
    "MISMATCH\n\nErrors\n======\n\n";

// src/ras/client_support.cc of NCCL.
TEST(RasText, HasTheRanksThatAreBehind) {
  CommRecords records;
  ASSERT_TRUE(add_ras_text(
      summary + "Warnings\n========\n\n#0-0 (27a079) MISMATCH\n"
                "  Communicator ranks have different AllReduce operation counts\n"
                "  6 ranks have launched up to operation 65\n"
                "  Rank 5 has launched up to operation 60 -- GPU 1 managed by process 9 on node "
                "n1\n"
                "  Rank 7 has not launched any operations -- GPU 3 managed by process 11 on "
                "node n1\n",
      records));
  ASSERT_EQ(records.ras_counts.size(), 1U);
  const RasCounts& counts = records.ras_counts[0];
  EXPECT_EQ(counts.communicator, "27a079");
  EXPECT_EQ(counts.size, 8);
  EXPECT_EQ(counts.operation, "AllReduce");
  ASSERT_EQ(counts.levels.size(), 3U);
  EXPECT_EQ(counts.levels[0].count, 65);
  EXPECT_EQ(counts.levels[0].ranks, 6);
  EXPECT_EQ(counts.levels[1].listed, (std::vector<int>{5}));
  EXPECT_EQ(counts.levels[2].count, 0);
}

TEST(RasText, HasDeadProcessesAndSilentRanks) {
  CommRecords records;
  ASSERT_TRUE(add_ras_text(
      summary + "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                "  Process 4 on node n1 managing GPU 5\n\n"
                "#0-0 (27a079) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                "  Rank 5 -- GPU 5 managed by process 4 on node n1\n\n",
      records));
  ASSERT_EQ(records.ras_absences.size(), 2U);
  EXPECT_EQ(records.ras_absences[0].what, "DEAD");
  EXPECT_EQ(records.ras_absences[0].count, 1);
  EXPECT_EQ(records.ras_absences[0].processes.size(), 1U);
  EXPECT_EQ(records.ras_absences[1].ranks, (std::vector<int>{5}));
}

TEST(RasText, IsNoOtherText) {
  CommRecords records;
  EXPECT_FALSE(add_ras_text("Job summary\nCommunicators...\n", records));
  EXPECT_FALSE(is_ras_text("step 1\n"));
  ASSERT_TRUE(add_ras_text(summary, records));
  EXPECT_TRUE(records.ras_counts.empty());
  EXPECT_TRUE(records.ras_absences.empty());
}

TEST(RasText, HasTheSameOfJson) {
  RasStatus status;
  RasCommunicator c{.id = "a b", .size = 3};
  for (int r = 0; r < 2; ++r) {
    RasRank rank{.rank = r};
    rank.calls[static_cast<std::size_t>(CollectiveKind::all_reduce)] = r == 0 ? 7 : 6;
    c.ranks.push_back(rank);
  }
  c.missing.push_back({.rank = 2, .host = "n1", .pid = 5});
  status.communicators.push_back(c);
  CommRecords records;
  add_ras_status(status, records);
  ASSERT_EQ(records.ras_counts.size(), 1U);
  EXPECT_EQ(records.ras_counts[0].levels.back().listed, (std::vector<int>{1}));
  ASSERT_EQ(records.ras_absences.size(), 1U);
  EXPECT_EQ(records.ras_absences[0].ranks, (std::vector<int>{2}));
}

}  // namespace
}  // namespace stepscope

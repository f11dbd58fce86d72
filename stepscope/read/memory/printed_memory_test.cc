// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/memory/printed_memory.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(PrintedMemory, RowsOfBothTablesAreCheckpoints) {
  const auto totals = printed_checkpoints(
      "[rank0]: step 3\n=== Memory Profile ===\n"
      "Label                             Allocated     Reserved         Peak     Frag\n"
      "--------------------------------------------------------------------------\n"
      "after_model_init                    13.48GB      14.00GB      13.48GB    3.7%\n"
      "after_forward                       40.20GB      42.50GB      40.90GB    5.4%\n"
      "done in 3.2GB\n");
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[1].label, "after_forward");
  EXPECT_EQ(totals[1].allocated, Bytes{40'200'000'000});
  EXPECT_EQ(totals[1].reserved, Bytes{42'500'000'000});
  EXPECT_EQ(totals[1].peak, Bytes{40'900'000'000});
  const auto changes = printed_checkpoints(
      "=== Memory Profile ===\n"
      "Checkpoint                        Allocated         Peak        Delta\n"
      "Initial                                0.0 MB        0.0 MB       +0.0 MB\n"
      "After forward (activations)         6460.0 MB     8600.0 MB      +17.1 MB\n"
      "After zero_grad                     6442.0 MB     8900.0 MB    -2148.0 MB\n"
      "----------------------------------------------------------------------\n"
      "                   Peak memory     8900.0 MB\n");
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[1].label, "After forward (activations)");
  EXPECT_EQ(changes[2].allocated, Bytes{6'442'000'000});
  EXPECT_EQ(changes[2].peak, Bytes{8'900'000'000});
  EXPECT_FALSE(changes[2].reserved);
}

// deepspeed/runtime/utils.py
TEST(PrintedMemory, LinesOfDeepSpeedAreCheckpoints) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  const auto found = printed_checkpoints(
      "[2026-11-30 09:14:58,1] [INFO] [utils.py:803:see_memory_usage] MA 4.5 GB         Max_MA 5.0 "
      "GB         CA 6.25 GB         Max_CA 6 GB \n"
      "[2026-11-30 09:14:58,2] [INFO] [utils.py:802:see_memory_usage] after forward 1\n"
      "[2026-11-30 09:14:58,2] [INFO] [utils.py:803:see_memory_usage] MA 9.0 GB         Max_MA 9.5 "
      "GB         CA 10.0 GB         Max_CA 10 GB \n"
      "[2026-11-30 09:14:58,2] [INFO] [utils.py:810:see_memory_usage] CPU Virtual Memory:  used = "
      "50.5 GB, percent = 40.2%\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].label, "line 1");
  EXPECT_EQ(found[0].allocated, Bytes{gib * 9 / 2});
  EXPECT_EQ(found[0].reserved, Bytes{gib * 25 / 4});
  EXPECT_FALSE(found[0].host);
  EXPECT_EQ(found[1].label, "after forward 1");
  EXPECT_EQ(found[1].peak, Bytes{gib * 19 / 2});
  EXPECT_EQ(found[1].host, Bytes{gib * 101 / 2});
  EXPECT_TRUE(printed_checkpoints("the MA 4.5 GB of Max_MA\n").empty());
}

TEST(PrintedMemory, OtherTablesHaveNoCheckpoints) {
  EXPECT_TRUE(printed_checkpoints("Label  Allocated  Reserved  Peak  Frag\n"
                                  "x  1.00GB  1.00GB  1.00GB  0.0%\n")
                  .empty());
  EXPECT_TRUE(printed_checkpoints("=== Memory Profile ===\nnothing here\n").empty());
}

}  // namespace
}  // namespace stepscope

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

TEST(PrintedMemory, OtherTablesHaveNoCheckpoints) {
  EXPECT_TRUE(printed_checkpoints("Label  Allocated  Reserved  Peak  Frag\n"
                                  "x  1.00GB  1.00GB  1.00GB  0.0%\n")
                  .empty());
  EXPECT_TRUE(printed_checkpoints("=== Memory Profile ===\nnothing here\n").empty());
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The GPU windows equal the exact reference, except for known differences.
#include <iostream>

#include "tests/shared/exact_reference.h"

namespace stepscope::shared {
namespace {

using Reference = SharedData;

TEST_F(Reference, OfEveryRankGivesOurGpuWindow) {
  const std::vector<ExactRow> rows = exact_rows(root);
  ASSERT_GT(rows.size(), 40U);
  std::size_t equal = 0;
  for (const ExactRow& row : rows) {
    const std::string who = row.set + " rank " + std::to_string(row.rank);
    EXPECT_EQ(row.differs(), !row.reason.empty())
        << who << ": off by " << row.largest_difference() << " us";
    equal += row.reference && row.ours && !row.differs() ? 1U : 0U;
  }
  EXPECT_GT(equal, 35U);
  std::cout << exact_table(rows) << '\n' << hta_table(rows);
}

TEST(ExactRows, DifferBeyondAMicrosecondOrWhereOneHasNoWindow) {
  ExactRow row;
  EXPECT_FALSE(row.differs());
  row.ours = WindowTimes{100, 60, 40, 50, 10, 0, 0};
  EXPECT_TRUE(row.differs());
  row.reference = row.ours;
  (*row.reference)[6] = 0.9;
  EXPECT_FALSE(row.differs());
  (*row.reference)[6] = 1.1;
  EXPECT_TRUE(row.differs());
}

}  // namespace
}  // namespace stepscope::shared

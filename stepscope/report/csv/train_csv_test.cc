// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/csv/train_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stepscope/pipeline/train/train_test_result.h"

namespace stepscope {
namespace {

TEST(TrainCsv, TablesHaveARowAStepAndRank) {
  const std::vector<CsvFile> files = train_csv(train_test::run());
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].name, "steps.csv");
  EXPECT_EQ(std::ranges::count(files[0].text, '\n'), 4);
  EXPECT_EQ(files[1].name, "rank_steps.csv");
  EXPECT_EQ(std::ranges::count(files[1].text, '\n'), 7);
}

}  // namespace
}  // namespace stepscope

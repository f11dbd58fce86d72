// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/check_json.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

TEST(CheckJson, HasTheTimesOfEachRankAndTheirMap) {
  const Json times = check_tree(test::checked_ranks(2, 4))["step_times"];
  EXPECT_EQ(times["steps"], 4);
  EXPECT_EQ(times["job"]["median_ns"], 108);
  ASSERT_EQ(times["ranks"].size(), 2U);
  EXPECT_EQ(times["ranks"][1]["rank"], 1);
  EXPECT_EQ(times["ranks"][1]["deviation"], 0.03846);  // 108 / 104 - 1
  ASSERT_EQ(times["columns"].size(), 4U);
  EXPECT_EQ(times["columns"][3]["first"], 3);
  ASSERT_EQ(times["map"].size(), 2U);
  EXPECT_EQ(times["map"][0]["deviations"].size(), 4U);
}

TEST(CheckJson, WithoutRanksThereIsNoMap) {
  const Json times = check_tree(test::checked_ranks(0, 4))["step_times"];
  EXPECT_TRUE(times["ranks"].empty());
  EXPECT_TRUE(times["map"].empty());
  EXPECT_EQ(times["columns"].size(), 4U);
}

TEST(CheckJson, WithoutStepsNothingIsInvented) {
  const Json times = check_tree(test::checked_ranks(0, 0))["step_times"];
  EXPECT_TRUE(times["job"].is_null());
  EXPECT_TRUE(times["counted_from"].is_null());
  EXPECT_TRUE(times["columns"].empty());
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/compare_json.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(CompareJson, HasTheDifferencesOfParts) {
  EXPECT_EQ(compare_tree(slower_with_parts())["parts"][0]["difference_ns"], 8e6);
}

TEST(CompareJson, LaunchesHaveTheirTimesInOrderOfLength) {
  LaunchSteps a = launch_of_steps(20, 100);
  const Json few = compare_tree(compared(a, a))["a"]["launches"][0]["sorted_ns"];
  EXPECT_EQ(few.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(few));
  a.wall_ns.assign(5000, 1e6);
  for (std::size_t i = 0; i < a.wall_ns.size(); ++i) a.wall_ns[i] += static_cast<double>(i % 500);
  a.wall_ns[3000] = 7e6;
  const Json many = compare_tree(compared(a, a))["a"]["launches"][0]["sorted_ns"];
  ASSERT_EQ(many.size(), 1000U);
  EXPECT_EQ(many.front(), 1'000'000);
  EXPECT_EQ(many.back(), 7'000'000);
  EXPECT_NEAR(many[500].get<double>(), 1'000'250, 2);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/check_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/verbs/check/check_test_results.h"

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

bool has(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

TEST(CheckText, AFewRanksEachHaveARow) {
  const std::string text = check_text(test::checked_ranks(3, 5), {});
  EXPECT_TRUE(has(text, "Step times by rank:")) << text;
  for (const char* row : {"  job ", "  rank 0", "  rank 1", "  rank 2"})
    EXPECT_TRUE(has(text, row)) << text;
  EXPECT_TRUE(has(text, "+8.0 %")) << text;
  EXPECT_FALSE(has(text, "furthest")) << text;
}

TEST(CheckText, OfManyRanksThoseFurthestFromTheOthersAreShown) {
  const std::string text = check_text(test::checked_ranks(100, 5), {});
  EXPECT_TRUE(has(text, "rank 99")) << text;
  EXPECT_TRUE(has(text, "The 16 of 100 ranks that are furthest from the median rank.")) << text;
  EXPECT_EQ(std::ranges::count(text.substr(text.find("Step times")), '\n'), 20) << text;
}

TEST(CheckText, WithoutRanksThereIsOneRow) {
  const std::string text = check_text(test::checked_ranks(0, 5), {});
  EXPECT_TRUE(has(text, "Step times:")) << text;
  EXPECT_FALSE(has(text, "rank 0")) << text;
  EXPECT_FALSE(has(text, "against the median rank")) << text;
  EXPECT_FALSE(has(check_text(test::checked_ranks(0, 0), {}), "Step times"));
}

TEST(CheckText, NamesThePageThatTellsMore) {
  EXPECT_TRUE(
      has(check_text(test::checked_ranks(2, 5), {.details = "page.html"}), "Details: page.html\n"));
}

TEST(CheckText, EqualRanksDifferByNothing) {
  CheckResult r = test::checked_ranks(3, 5);
  r.times.ranks[1].deviation = 0.0002;
  const std::string text = check_text(r, {});
  EXPECT_TRUE(has(text, " 0 %")) << text;
  EXPECT_TRUE(has(text, "< 0.1 %")) << text;
  EXPECT_TRUE(has(text, "mean")) << text;
}

TEST(CheckJson, HasTheMeanOfARankAndTheConventionOfMfu) {
  CheckResult r = test::checked_ranks(2, 5);
  EXPECT_TRUE(check_tree(r)["mfu_convention"].is_null());
  r.facts.mfu_convention = "6N";
  const Json tree = check_tree(r);
  EXPECT_EQ(tree["mfu_convention"], "6N");
  EXPECT_EQ(tree["step_times"]["ranks"][1]["mean_ns"], 108);
}

}  // namespace

}  // namespace stepscope

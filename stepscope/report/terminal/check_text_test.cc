// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/check_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

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
  EXPECT_FALSE(has(text, "beside the median rank")) << text;
  EXPECT_FALSE(has(check_text(test::checked_ranks(0, 0), {}), "Step times"));
}

TEST(CheckText, NamesThePageThatTellsMore) {
  EXPECT_TRUE(
      has(check_text(test::checked_ranks(2, 5), {.details = "page.html"}), "Details: page.html\n"));
}

}  // namespace
}  // namespace stepscope

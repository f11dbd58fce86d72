// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/token_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

TEST(TokenScan, FindsWhatEachPlaceBegins) {
  const std::vector<std::string_view> words = {"abab", "ba", "cabc", "bb"};
  const TokenScan scan(words);
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text(static_cast<std::size_t>(random() % 40), ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 4);
    for (std::size_t from = 0; from <= text.size(); ++from) {
      std::size_t first = std::string_view::npos;
      for (const std::string_view word : words) first = std::min(first, text.find(word, from));
      const TokenScan::Hit hit = scan.next(text, from);
      ASSERT_EQ(hit.at, first) << text << ' ' << from;
      if (hit.at != std::string_view::npos) {
        ASSERT_TRUE(std::string_view(text).substr(hit.at).starts_with(words[hit.word]));
      }
    }
  }
}

TEST(TokenScan, OfLongWordsAndNone) {
  const std::vector<std::string_view> words = {"elapsed time per iteration", "tps: "};
  const TokenScan scan(words);
  EXPECT_EQ(scan.next("x elapsed time per iteration", 0).at, 2U);
  EXPECT_EQ(scan.next("x elapsed time per iteratio", 0).at, std::string_view::npos);
  EXPECT_EQ(scan.next("tps: tps: ", 1).at, 5U);
  EXPECT_EQ(scan.next("", 0).at, std::string_view::npos);
  EXPECT_EQ(scan.next("abc", 7).at, std::string_view::npos);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/token_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

// Words of one length, with longer ones, with a common prefix, and one inside another.
class WordSets : public testing::TestWithParam<std::vector<std::string_view>> {};

TEST_P(WordSets, AreFoundWhereTheyBegin) {
  const std::vector<std::string_view>& words = GetParam();
  const TokenScan scan(words);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(static_cast<std::size_t>(random() % 60), ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    for (std::size_t from = 0; from <= text.size(); ++from) {
      TokenScan::Hit first;
      for (std::size_t w = 0; w < words.size(); ++w)
        if (const std::size_t at = text.find(words[w], from); at < first.at)
          first = {.at = at, .word = w};
      const TokenScan::Hit hit = scan.next(text, from);
      ASSERT_EQ(hit.at, first.at) << text << ' ' << from;
      ASSERT_EQ(hit.word, first.word) << text << ' ' << from;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    TokenScan, WordSets,
    testing::Values(std::vector<std::string_view>{"aba", "bac"},
                    std::vector<std::string_view>{"abab", "bacc", "cabcab", "bba", "abac"},
                    std::vector<std::string_view>{"abcab", "babca", "abcabc", "aaaaaaa", "bbcba"},
                    std::vector<std::string_view>{"abacab", "cabacaba", "bacaba"}));

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

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/phrases.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Phrases, WhatAHostDidEndsASentenceThatBeginsWithWhile) {
  EXPECT_EQ(host_doing(""), "the host shows no row");
  EXPECT_EQ(host_doing("between a and b"), "the host shows no row between a and b");
  EXPECT_EQ(host_doing("155 short operators and calls"),
            "the host runs 155 short operators and calls");
  EXPECT_EQ(host_doing("aten::item"), "the host is in aten::item");
}

TEST(Phrases, NamesBecomeWords) {
  EXPECT_EQ(capitalised("rank 3 waits"), "Rank 3 waits");
  EXPECT_EQ(capitalised("µs"), "µs");
  EXPECT_EQ(capitalised(""), "");
  EXPECT_EQ(spaced("rank_balance"), "rank balance");
  EXPECT_EQ(shape_in_words("[[8, 4], [],\n []]"), "[[8,4]]");
}

}  // namespace
}  // namespace stepscope

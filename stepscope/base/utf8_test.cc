// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/utf8.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Utf8, CharactersAreOneToFourBytes) {
  EXPECT_EQ(utf8_length("a", 0), 1U);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1), 0), 1U);
  EXPECT_EQ(utf8_length("\xC2\x80", 0), 2U);
  EXPECT_EQ(utf8_length("\xE0\xA0\x80", 0), 3U);
  EXPECT_EQ(utf8_length("\xED\x9F\xBF", 0), 3U);      // U+D7FF
  EXPECT_EQ(utf8_length("\xEF\xBF\xBF", 0), 3U);      // U+FFFF
  EXPECT_EQ(utf8_length("\xF0\x90\x80\x80", 0), 4U);  // U+10000
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF", 0), 4U);  // U+10FFFF
  EXPECT_EQ(utf8_length("x\xC3\xBCy", 1), 2U) << "in the middle of a text";
}

TEST(Utf8, WhatIsNoCharacterHasNoLength) {
  EXPECT_EQ(utf8_length("\xBC", 0), 0U) << "only the rest of one";
  EXPECT_EQ(utf8_length("\xC3", 0), 0U) << "cut off";
  EXPECT_EQ(utf8_length("\xE2\x82", 0), 0U) << "cut off";
  EXPECT_EQ(utf8_length("\xC3z", 0), 0U) << "another follows too early";
  EXPECT_EQ(utf8_length("\xC0\xAF", 0), 0U) << "an overlong slash";
  EXPECT_EQ(utf8_length("\xE0\x9F\xBF", 0), 0U) << "overlong";
  EXPECT_EQ(utf8_length("\xF0\x8F\xBF\xBF", 0), 0U) << "overlong";
  EXPECT_EQ(utf8_length("\xED\xA0\x80", 0), 0U) << "a surrogate";
  EXPECT_EQ(utf8_length("\xF4\x90\x80\x80", 0), 0U) << "above U+10FFFF";
  EXPECT_EQ(utf8_length("\xFF", 0), 0U);
}

TEST(Utf8, EveryCharacterIsAppendedAsItIsRead) {
  for (std::uint32_t c = 0; c < 0x110000; ++c) {
    std::string text;
    append_utf8(text, c);
    if (c >= 0xD800 && c < 0xE000)
      ASSERT_EQ(text, "\xEF\xBF\xBD") << c;
    else
      ASSERT_EQ(utf8_length(text, 0), text.size()) << c;
  }
  std::string text;
  for (const std::uint32_t c : {0x7AU, 0xFCU, 0x20ACU, 0x1F600U, 0x110000U}) append_utf8(text, c);
  EXPECT_EQ(text, "z\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD");
}

}  // namespace
}  // namespace stepscope

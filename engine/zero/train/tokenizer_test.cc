// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/tokenizer.h"

#include <gtest/gtest.h>

namespace stepscope::zero {
namespace {

TEST(Tokenizer, EveryByteIsAToken) {
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  const auto tokens = encode_bytes(all);
  ASSERT_EQ(tokens.size(), 256U);
  for (std::int32_t b = 0; b < 256; ++b) EXPECT_EQ(tokens[static_cast<std::size_t>(b)], b);
}

TEST(Tokenizer, DecodesWhatItEncoded) {
  const std::string text = "Grüße, 世界 \xf0\x9f\x98\x80\n\ttab";
  EXPECT_EQ(decode_bytes(encode_bytes(text)), text);
  EXPECT_EQ(decode_bytes({}), "");
}

TEST(Tokenizer, WhatIsNoTextBecomesReplacementCharacters) {
  const std::string bad = "\xef\xbf\xbd";
  const auto decoded = [](std::vector<std::int32_t> tokens) { return decode_bytes(tokens); };
  EXPECT_EQ(decoded({'a', 0xc3, 'b'}), "a" + bad + "b");  // a truncated sequence
  EXPECT_EQ(decoded({'a', end_of_text, 'b'}), "ab");
  EXPECT_EQ(decoded({300, 'x', -1}), bad + "x" + bad);  // a padding token, and an invalid one
  EXPECT_EQ(decoded({0xc3, end_of_text, 0xbc}), "ü");
}

}  // namespace
}  // namespace stepscope::zero

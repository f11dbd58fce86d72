// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/text/text_table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace stepscope {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TextTable, NumbersAlignRightAndTextsLeft) {
  EXPECT_EQ(text_table({{"name", false}, {"calls"}}, {{"mm", "12"}, {"softmax", "7"}}, 80),
            "  name     calls\n"
            "  mm          12\n"
            "  softmax      7\n");
}

TEST(TextTable, CharactersOfSeveralBytesTakeOneColumn) {
  const auto lines =
      lines_of(text_table({{"t"}, {"x", false}}, {{"17.2 µs", "a"}, {"412 ms", "b"}}, 80));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(columns_of(lines[1]), columns_of(lines[2]));
}

TEST(TextTable, LongTextColumnsGiveWayAlikeAndNumbersDoNot) {
  const std::string text(50, 'a');
  const auto lines = lines_of(
      text_table({{"first", false}, {"n"}, {"second", false}}, {{text, "123456", text}}, 60));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_LE(columns_of(lines[1]), 60U);
  EXPECT_NE(lines[1].find("123456"), std::string::npos);
  std::size_t shortened = 0;
  for (std::size_t p = lines[1].find("…"); p != std::string::npos; p = lines[1].find("…", p + 1))
    ++shortened;
  EXPECT_EQ(shortened, 2U);
}

TEST(TextTable, ATitleIsNeverShortened) {
  const std::string table = text_table({{"the host meanwhile", false}, {"n"}},
                                       {{std::string(80, 'x'), std::string(30, '1')}}, 40);
  EXPECT_NE(table.find("the host meanwhile"), std::string::npos);
}

TEST(TextTable, AColumnThatSaysNothingIsLeftOut) {
  EXPECT_EQ(text_table({{"a", false}, {"b"}, {"c"}}, {{"x", "-", "1"}, {"y", "", "2"}}, 80),
            "  a  c\n  x  1\n  y  2\n");
}

TEST(TextTable, AFoldedTableRepeatsItsFirstColumn) {
  EXPECT_EQ(folded_table({{"row", false}, {"one"}, {"none"}, {"two"}, {"three"}},
                         {{"a", "1", "", "2", "3"}, {"b", "4", "", "5", "6"}}, 15),
            "  row  one  two\n"
            "  a      1    2\n"
            "  b      4    5\n"
            "\n"
            "  row  three\n"
            "  a        3\n"
            "  b        6\n");
}

TEST(TextTable, LineBreaksInACellCannotBreakTheTable) {
  EXPECT_EQ(text_table({{"shape", false}}, {{"[[8,\n   4]]"}}, 80), "  shape\n  [[8, 4]]\n");
}

TEST(TextTable, ATextGoesOnInTheNextLineWhereItsColumnWraps) {
  EXPECT_EQ(text_table({{"who", false}, {.title = "what", .right = false, .wraps = true}, {"n"}},
                       {{"rank 0", "was ended by signal 9", "1"}, {"rank 1", "ok", "2"}}, 31),
            "  who     what                n\n"
            "  rank 0  was ended by        1\n"
            "          signal 9\n"
            "  rank 1  ok                  2\n");
}

TEST(Bar, CountsEighthsAndShowsWhateverIsThere) {
  EXPECT_EQ(bar(0, 10), "");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5625, 2), "█▏");
  EXPECT_EQ(bar(0.0001, 10), "▏");
  EXPECT_EQ(bar(7, 2), "██");
  EXPECT_EQ(bar(-1, 2), "");
}

TEST(Wrapped, BreaksAtSpacesWithinTheWidth) {
  EXPECT_EQ(wrapped("one two three", 8), "one two\nthree\n");
  EXPECT_EQ(wrapped("unbreakable", 4), "unbreakable\n");
}

TEST(Wrapped, KeepsAQuantityAndItsUnitTogether) {
  EXPECT_EQ(wrapped("takes 48.2 ms", 10), "takes\n48.2 ms\n");
  EXPECT_EQ(wrapped("of it 61.1 %).", 11), "of it\n61.1 %).\n");
}

TEST(Notes, AreShortenedAndStandEachOnLinesOfTheirOwn) {
  const std::vector<std::string> warnings = {"one", std::string(400, 'x')};
  const auto lines = lines_of(notes_text(warnings, 100));
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], "note: one");
  EXPECT_NE(notes_text(warnings, 100).find("…"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/format.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Format, TimesHaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(format_time(412e6), "412 ms");
  EXPECT_EQ(format_time(1.03e9), "1.03 s");
  EXPECT_EQ(format_time(17'200.0), "17.2 µs");
  EXPECT_EQ(format_time(20.0), "20 ns");
  EXPECT_EQ(format_time(Ns{3'661'000'000'000}), "3661 s");
}

TEST(Format, ATimeThatWouldRoundToAThousandTakesTheNextUnit) {
  EXPECT_EQ(format_time(999.4), "999 ns");
  EXPECT_EQ(format_time(999.6), "1.00 µs");
  EXPECT_EQ(format_time(999'400.0), "999 µs");
  EXPECT_EQ(format_time(999'950.0), "1.00 ms");
  EXPECT_EQ(format_time(999'950'000.0), "1.00 s");
}

TEST(Format, DigitsAtTheEdgeOfALengthKeepThree) {
  EXPECT_EQ(format_digits(9.994), "9.99");
  EXPECT_EQ(format_digits(9.996), "10.0");
  EXPECT_EQ(format_digits(99.94), "99.9");
  EXPECT_EQ(format_digits(99.96), "100");
  EXPECT_EQ(format_digits(1230), "1230");
  EXPECT_EQ(format_digits(0.076), "0.076");
  EXPECT_EQ(format_digits(0), "0.00");
}

TEST(Format, NothingIsZeroWithoutAUnit) {
  EXPECT_EQ(format_time(0.0), "0");
  EXPECT_EQ(format_time(0.2), "0");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_percent(0), "0.0 %");
}

TEST(Format, NegativeQuantitiesKeepTheirSignAndUnit) {
  EXPECT_EQ(format_time(-19'000.0), "-19.0 µs");
  EXPECT_EQ(format_time(-1.5e9), "-1.50 s");
  EXPECT_EQ(format_bytes(-2e9), "-2.00 GB");
  EXPECT_EQ(format_percent(-0.123), "-12.3 %");
}

TEST(Format, ASmallShareIsNotPrintedAsNone) {
  EXPECT_EQ(format_percent(0.0004), "< 0.1 %");
  EXPECT_EQ(format_percent(0.0006), "0.1 %");
  EXPECT_EQ(format_percent(-0.0001), "0.0 %");
  EXPECT_EQ(format_percent(1), "100.0 %");
}

TEST(Format, BytesAreDecimalAndCountsHaveTheirOwnUnits) {
  EXPECT_EQ(format_bytes(238), "238 B");
  EXPECT_EQ(format_bytes(999.7), "1.00 kB");
  EXPECT_EQ(format_bytes(1.2e9), "1.20 GB");
  EXPECT_EQ(format_count(412), "412");
  EXPECT_EQ(format_count(28'000), "28.0 k");
  EXPECT_EQ(format_count(1.2e6), "1.20 M");
}

TEST(Format, ALongTextLosesItsMiddleByCharactersAndNotByBytes) {
  EXPECT_EQ(shorten("short", 5), "short");
  EXPECT_EQ(shorten("abcdefghij", 7), "abcd…ij");
  EXPECT_EQ(shorten("µµµµµµµµµµ", 7), "µµµµ…µµ");
  EXPECT_EQ(shorten("µµµµ", 4), "µµµµ");
}

TEST(Format, ControlCharactersAndBrokenUtf8CannotReachTheTerminal) {
  EXPECT_EQ(printable("a\033[2Jb"), "a\xEF\xBF\xBD[2Jb");
  EXPECT_EQ(printable("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(printable("\xFFz"), "\xEF\xBF\xBDz");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
  EXPECT_EQ(printable("µ 日本"), "µ 日本");
  EXPECT_EQ(printable("a\xC2\x9B"
                      "2J"),
            "a\xEF\xBF\xBD"
            "2J")
      << "the control sequence introducer of eight bits";
  EXPECT_EQ(printable("\xE2\x80\xAE\xE2\x80\xA8\xE2\x81\xA6"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")
      << "right to left, a line's end, an isolate";
  EXPECT_EQ(printable("\xC2\xA0…–€"), "\xC2\xA0…–€");
}

TEST(Format, WholeCountsHaveCommas) {
  EXPECT_EQ(format_whole(0), "0");
  EXPECT_EQ(format_whole(999), "999");
  EXPECT_EQ(format_whole(1'234'567), "1,234,567");
  EXPECT_EQ(format_whole(-123), "-123");
  EXPECT_EQ(format_whole(-1'234), "-1,234");
}

}  // namespace
}  // namespace stepscope

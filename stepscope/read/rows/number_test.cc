// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/number.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

namespace stepscope {
namespace {

RawValue scalar(std::string_view text) {
  return {text.data(), static_cast<std::uint32_t>(text.size()), ValueKind::scalar};
}
std::optional<std::int64_t> ns(std::string_view text) {
  const auto time = parse_microseconds(scalar(text));
  return time ? std::optional(time->count()) : std::nullopt;
}

TEST(Number, DecimalMicrosecondsBecomeExactNanoseconds) {
  EXPECT_EQ(ns("1"), 1000);
  EXPECT_EQ(ns("1234567.890"), 1234567890);
  EXPECT_EQ(ns("1711964646123456.789"), 1711964646123456789);
  EXPECT_EQ(ns("1711964646123456.7"), 1711964646123456700);
  EXPECT_EQ(ns("0.001"), 1);
  EXPECT_EQ(ns(".5"), 500);
  EXPECT_EQ(ns("7."), 7000);
  EXPECT_EQ(ns("-3.001"), -3001);
  EXPECT_EQ(ns("+2.5"), 2500);
}

TEST(Number, FurtherDecimalsRoundHalfAwayFromZero) {
  EXPECT_EQ(ns("1.0004"), 1000);
  EXPECT_EQ(ns("1.00049999"), 1000);
  EXPECT_EQ(ns("1.0005"), 1001);
  EXPECT_EQ(ns("-1.0005"), -1001);
  EXPECT_EQ(ns("0.9999999999999999999999999"), 1000);
}

TEST(Number, ExponentsMoveThePointWithoutLosingDigits) {
  EXPECT_EQ(ns("1e3"), 1000000);
  EXPECT_EQ(ns("1.234567890123456E+12"), 1234567890123456);
  EXPECT_EQ(ns("1234567890123456789e-6"), 1234567890123457);
  EXPECT_EQ(ns("5e-4"), 1);
  EXPECT_EQ(ns("4e-4"), 0);
  EXPECT_EQ(ns("-15e-1"), -1500);
  EXPECT_EQ(ns("0e99"), 0);
  EXPECT_EQ(ns("00000000000000000000001e0"), 1000);
  EXPECT_EQ(ns("1e16"), std::nullopt);
  EXPECT_EQ(ns("1e99999999999"), std::nullopt);
  EXPECT_EQ(ns("1e"), std::nullopt);
}

TEST(Number, WhatIsNoFiniteNumberIsNone) {
  for (const char* text :
       {"", "-", ".", "-.", "inf", "-inf", "nan", "-nan", "NaN", "Infinity", "null", "abc", "12abc",
        "1.2.3", "99999999999999999999", "9223372036854775.807999"})
    EXPECT_EQ(ns(text), std::nullopt) << text;
}

TEST(Number, AScalarReachesToTheNextToken) {
  EXPECT_EQ(ns(" 12.5 , "), 12500);
  EXPECT_EQ(ns("12\r\n"), 12000);
  EXPECT_EQ(ns("1e1,\n"), 10000);
}

TEST(Number, EveryWholeNanosecondSurvivesItsSpelling) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20000; ++round) {
    const auto bits = static_cast<unsigned>(random() % 62);
    const std::int64_t value =
        static_cast<std::int64_t>(random() >> (63 - bits)) * (random() % 2 == 0 ? 1 : -1);
    const std::int64_t size = std::abs(value);
    std::string fraction = std::to_string(size % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    const std::string text =
        std::string(value < 0 ? "-" : "") + std::to_string(size / 1000) + "." + fraction;
    ASSERT_EQ(ns(text), value) << text;
    if (size < 1'000'000'000'000'000'000) {
      ASSERT_EQ(ns(text + "e0"), value) << text;
      ASSERT_EQ(ns(text + "0000e+0"), value) << text;
    }
  }
}

TEST(Number, IntegersMayBeQuotedHexadecimalTrueOrWide) {
  const auto integer = [](std::string_view text) { return parse_integer(scalar(text)); };
  EXPECT_EQ(integer("42,"), 42);
  EXPECT_EQ(integer("-7"), -7);
  EXPECT_EQ(integer("0x0"), 0);
  EXPECT_EQ(integer("0x55674ecd4180"), 0x55674ecd4180);
  EXPECT_EQ(integer("true"), 1);
  EXPECT_EQ(integer("False"), 0);
  EXPECT_EQ(integer("3.9"), 3);
  EXPECT_EQ(integer("1e6"), 1000000);
  EXPECT_EQ(integer("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(integer("18446744073709551615"), -1);  // an address: two's complement
  EXPECT_EQ(integer("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(integer("18446744073709551616"), std::nullopt);
  EXPECT_EQ(integer("1e30"), std::nullopt);
  EXPECT_EQ(integer("0x"), std::nullopt);
  EXPECT_EQ(integer("inf"), std::nullopt);
  EXPECT_EQ(integer(""), std::nullopt);
}

TEST(Number, RealsAreFinite) {
  const auto real = [](std::string_view text) { return parse_real(scalar(text)); };
  EXPECT_EQ(real("0.25,"), 0.25);
  EXPECT_EQ(real("-1e3"), -1000.0);
  EXPECT_EQ(real("inf"), std::nullopt);
  EXPECT_EQ(real("nan"), std::nullopt);
  EXPECT_EQ(real("\""), std::nullopt);
}

TEST(Number, EveryLengthOfDigitsIsReadWhateverStandsBehind) {
  std::string digits;
  std::int64_t whole = 0;
  for (int length = 1; length <= 18; ++length) {
    const int digit = length * 7 % 10;
    digits += static_cast<char>('0' + digit);
    whole = whole * 10 + digit;
    for (const char* behind : {"", ",", " ", ", ", "}", ",\n      ", " \n  }, {"}) {
      EXPECT_EQ(parse_integer(scalar(digits + behind)), whole) << digits << behind;
      if (length <= 15) {
        EXPECT_EQ(ns(digits + behind), whole * 1000) << digits << behind;
        EXPECT_EQ(ns(digits + ".25" + behind), whole * 1000 + 250) << digits << behind;
      }
    }
    for (const char* behind : {"/", ":", "x", "\x80", "\xB0"})
      EXPECT_EQ(ns(digits + behind), std::nullopt) << digits << behind;
  }
}

}  // namespace
}  // namespace stepscope

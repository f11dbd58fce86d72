// SPDX-License-Identifier: Apache-2.0
#include "stepscope/digest/integer_column.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

Values decoded(const std::string& bytes, const IntegerCoding& coding, std::size_t count) {
  Values out(count, 77);
  EXPECT_TRUE(decode_integers(bytes, coding, out));
  return out;
}

std::vector<IntegerCoding> codings(std::int64_t absent) {
  std::vector<IntegerCoding> out;
  for (const Residue residue : {Residue::value, Residue::delta, Residue::present})
    for (const Layout layout : {Layout::varint, Layout::planes})
      out.push_back({residue, layout, absent});
  return out;
}

TEST(IntegerColumn, HoldsAnyValues) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 3000; ++round) {
    // Values of any width, in any unit, with repeats and with one that is often there.
    const auto bits = static_cast<int>(1 + pick(64));
    const std::int64_t unit = pick(3) == 0 ? 1000 : 1;
    const std::int64_t often = pick(2) == 0 ? 0 : 4294967295;
    Values values(pick(40));
    for (std::int64_t& v : values) {
      v = static_cast<std::int64_t>(random() >> (64 - bits));
      if (bits < 50) v *= unit;
      if (pick(4) == 0) v = often;
    }
    for (const IntegerCoding& coding : codings(often)) {
      if (coding.residue == Residue::present && bits > 60) continue;
      const std::string bytes = encode_integers(values, coding);
      ASSERT_EQ(decoded(bytes, coding, values.size()), values) << round;
      ASSERT_LE(bytes.size(), most_encoded_bytes(values.size()));
    }
  }
}

TEST(IntegerColumn, HoldsTheEndsOfTheRange) {
  const Values values = {least, most, 0, -1, 1, least, least, most, most - 1, least + 1, 0};
  for (const Residue residue : {Residue::value, Residue::delta})
    for (const Layout layout : {Layout::varint, Layout::planes}) {
      const IntegerCoding coding{residue, layout, 0};
      EXPECT_EQ(decoded(encode_integers(values, coding), coding, values.size()), values);
    }
}

// Microseconds take no more bytes in nanoseconds.
TEST(IntegerColumn, DividesByWhatAllDifferencesShare) {
  Values us;
  Values ns;
  for (std::int64_t i = 0; i < 100; ++i) {
    us.push_back(1'700'000'000'000'000 + i * i / 4);
    ns.push_back(us.back() * 1000);
  }
  const IntegerCoding coding{Residue::delta, Layout::planes, 0};
  EXPECT_LE(encode_integers(ns, coding).size(), encode_integers(us, coding).size() + 4);
  EXPECT_LT(encode_integers(us, coding).size(), 130U);
}

// Links that rise by one, with rows without a link between them, take one byte each.
TEST(IntegerColumn, StepsOverAbsentValues) {
  Values values;
  for (std::int64_t i = 0; i < 1000; ++i) values.push_back(i % 3 == 0 ? 100'000 + i : 0);
  const IntegerCoding coding{Residue::present, Layout::varint, 0};
  EXPECT_LT(encode_integers(values, coding).size(), 1010U);
}

TEST(IntegerColumn, RefusesWhatIsNoEncoding) {
  const Values values = {1, 300, -5, 70'000, 70'000, 0};
  for (const IntegerCoding& coding : codings(0)) {
    const std::string bytes = encode_integers(values, coding);
    Values out(values.size());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_FALSE(decode_integers(bytes.substr(0, cut), coding, out)) << cut;
    EXPECT_FALSE(decode_integers(bytes + '\0', coding, out));
    Values more(values.size() + 1);
    EXPECT_FALSE(decode_integers(bytes, coding, more));
  }
  // A varint of eleven bytes, and one beyond 64 bits.
  Values one(1);
  const IntegerCoding plain;
  EXPECT_FALSE(
      decode_integers(std::string("\0\1", 2) + std::string(10, '\x80') + '\1', plain, one));
  EXPECT_FALSE(decode_integers(std::string("\0\1", 2) + std::string(9, '\x80') + '\2', plain, one));
}

}  // namespace
}  // namespace stepscope

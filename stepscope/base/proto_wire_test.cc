// SPDX-License-Identifier: Apache-2.0
// Uses the byte examples of the encoding guide, and every cut of a message.
#include "stepscope/base/proto_wire.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace stepscope {
namespace {

using namespace std::string_literals;

std::string varint(std::uint64_t value) {
  std::string out;
  append_varint(out, value);
  return out;
}

TEST(ProtoWire, SpellsNumbersAsTheGuideDoes) {
  EXPECT_EQ(varint(0), "\0"s);
  EXPECT_EQ(varint(127), "\x7f");
  EXPECT_EQ(varint(150), "\x96\x01");
  EXPECT_EQ(varint(std::numeric_limits<std::uint64_t>::max()),
            "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  std::string out;
  append_number(out, 1, 150);
  EXPECT_EQ(out, "\x08\x96\x01");
  out.clear();
  append_bytes(out, 2, "testing");
  EXPECT_EQ(out, "\x12\x07testing");
  out.clear();
  append_real(out, 1, 25.4);
  EXPECT_EQ(out, "\x09\x66\x66\x66\x66\x66\x66\x39\x40");
}

TEST(ProtoWire, GivesBackWhatWasWritten) {
  for (const std::uint64_t value :
       {0ULL, 1ULL, 127ULL, 128ULL, 16'383ULL, 16'384ULL, 1ULL << 63, ~0ULL}) {
    std::string bytes = varint(value) + "x";
    std::string_view rest = bytes;
    std::uint64_t back = 42;
    ASSERT_TRUE(take_varint(rest, back));
    EXPECT_EQ(back, value);
    EXPECT_EQ(rest, "x");
  }
  std::string message;
  append_number(message, 1, 7);
  append_bytes(message, 47, std::string(300, 'b'));
  append_fixed64(message, 3, 0x0123456789abcdefULL);
  append_real(message, (1U << 29) - 1, -0.5);
  message += "\x2d\x04\x03\x02\x01"s;  // field 5, four bytes
  ProtoFields f(message);
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.field(), 1U);
  EXPECT_EQ(f.number(), 7U);
  EXPECT_FALSE(f.is_bytes());
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.field(), 47U);
  EXPECT_EQ(f.bytes(), std::string(300, 'b'));
  EXPECT_EQ(f.number(), 0U);
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.number(), 0x0123456789abcdefULL);
  EXPECT_TRUE(f.bytes().empty());
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.field(), (1U << 29) - 1);
  EXPECT_EQ(f.real(), -0.5);
  ASSERT_TRUE(f.next());
  EXPECT_EQ(f.number(), 0x01020304U);
  EXPECT_FALSE(f.next());
  EXPECT_FALSE(f.damaged());
}

TEST(ProtoWire, StopsAtDamageAndReadsNothingBeyondIt) {
  std::string message;
  append_number(message, 1, 300);
  append_bytes(message, 2, "abc");
  append_fixed64(message, 3, 1);
  for (std::size_t size = 0; size < message.size(); ++size) {
    const std::string cut = message.substr(0, size);  // a copy: sanitizers see reads beyond it
    ProtoFields f(cut);
    std::size_t fields = 0;
    while (f.next()) ++fields;
    EXPECT_EQ(fields, size < 3 ? 0U : size < 8 ? 1U : 2U) << size;
    EXPECT_EQ(f.damaged(), size != 0 && size != 3 && size != 8) << size;
    EXPECT_EQ(f.cut_short(), f.damaged());
    EXPECT_FALSE(f.next());
  }
  for (const std::string& bad : {"\x00\x01"s, "\x0b"s, "\x0c"s, "\x0e\x01"s, "\x0f"s,
                                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
                                 "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"s}) {
    ProtoFields f(bad);
    EXPECT_FALSE(f.next());
    EXPECT_TRUE(f.damaged());
    EXPECT_FALSE(f.cut_short());
  }
}

TEST(ProtoWire, ReadsVarintsWithinBounds) {
  std::string_view b("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x07", 11);
  std::uint64_t v = 0;
  EXPECT_TRUE(take_varint(b, v));
  EXPECT_EQ(v, ~std::uint64_t{0});
  EXPECT_TRUE(take_varint(b, v));
  EXPECT_EQ(v, 7U);
  EXPECT_FALSE(take_varint(b, v));
  std::string_view endless("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 11);
  EXPECT_FALSE(take_varint(endless, v));
}

}  // namespace
}  // namespace stepscope

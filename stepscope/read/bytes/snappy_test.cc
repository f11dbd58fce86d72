// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/snappy.h"

#include <gtest/gtest.h>

#include "stepscope/read/bytes/parquet_test_files.h"

namespace stepscope {
namespace {

using test::from_hex;
using namespace std::string_literals;

std::string unpacked(const std::string& block) {
  const auto text = unpack_snappy(block);
  return text ? *text : "error: " + text.error().message();
}

// Blocks written by hand from the description of the format.
TEST(Snappy, UnpacksLiterals) {
  EXPECT_EQ(unpacked("\0"s), "");
  EXPECT_EQ(unpacked("\x03\x08"s + "abc"), "abc");
  EXPECT_EQ(unpacked("\x46\xf0\x45"s + std::string(70, 'x')), std::string(70, 'x'));
  EXPECT_EQ(unpacked("\xac\x02\xf4\x2b\x01"s + std::string(300, 'y')), std::string(300, 'y'));
}

TEST(Snappy, UnpacksCopies) {
  // "abcd", then a copy of 4 bytes from 4 back with a one-byte offset.
  EXPECT_EQ(unpacked("\x08\x0c"s + "abcd" + "\x01\x04"s), "abcdabcd");
  // A copy that overlaps its output repeats: "ab" 5 times more, with a two-byte offset.
  EXPECT_EQ(unpacked("\x0c\x04"s + "ab" + "\x26\x02\x00"s), "abababababab");
  // Four-byte offset.
  EXPECT_EQ(unpacked("\x06\x08"s + "xyz" + "\x0b\x03\x00\x00\x00"s), "xyzxyz");
}

// The library's output for 100 times "stepscope" (pyarrow 19.0.1: pa.compress(b'stepscope' * 100,
// codec='snappy', asbytes=True).hex()).
TEST(Snappy, UnpacksWhatTheLibraryPacked) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "stepscope";
  EXPECT_EQ(unpacked(from_hex("8407207374657073636f7065fe0900fe0900fe0900fe0900fe0900fe0900fe0900fe"
                              "0900fe0900fe0900fe0900fe0900fe0900ea0900")),
            text);
}

TEST(Snappy, RefusesWhatIsWrong) {
  EXPECT_NE(unpacked("").find("no length"), std::string::npos);
  EXPECT_NE(unpacked("\xff\xff\xff\xff\xff\x01"s).find("no length"), std::string::npos);
  EXPECT_NE(unpacked("\xff\xff\xff\xff\x0f\x00"s + "a").find("cannot give"), std::string::npos);
  EXPECT_NE(unpacked("\x03\x08"s + "ab").find("a literal that is cut"), std::string::npos);
  EXPECT_NE(unpacked("\x03\xf4"s).find("an element that is cut"), std::string::npos);
  EXPECT_NE(unpacked("\x02\x08"s + "abc").find("more bytes"), std::string::npos);
  EXPECT_NE(unpacked("\x05\x08"s + "abc").find("fewer bytes"), std::string::npos);
  EXPECT_NE(unpacked("\x08\x0c"s + "abcd" + "\x01\x05"s).find("before its first byte"),
            std::string::npos);
  EXPECT_NE(unpacked("\x08\x0c"s + "abcd" + "\x01\x00"s).find("before its first byte"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope

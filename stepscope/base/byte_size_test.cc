// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/byte_size.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(ParseBytes, TakesUnitsOfAThousandAndOf1024) {
  EXPECT_EQ(*parse_bytes("1KB"), 1000);
  EXPECT_EQ(*parse_bytes("64 MiB"), 64 * 1024 * 1024);
  EXPECT_EQ(*parse_bytes("1.5gb"), 1'500'000'000);
  EXPECT_EQ(*parse_bytes("7"), 7);
  for (const char* wrong : {"", "x", "0", "-1", "nan", "inf", "1XB", "1e99", "GB"})
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST(ByteSizeText, IsReadBack) {
  EXPECT_EQ(byte_size_text(Bytes{25'000'000}), "25MB");
  EXPECT_EQ(byte_size_text(Bytes{1'500'000'000}), "1500MB");
  EXPECT_EQ(byte_size_text(Bytes{16 << 20}), "16MiB");
  EXPECT_EQ(byte_size_text(Bytes{64 << 10}), "64KiB");
  EXPECT_EQ(byte_size_text(Bytes{1'000'000'000'000}), "1TB");
  EXPECT_EQ(byte_size_text(Bytes{1001}), "1001B");
  EXPECT_EQ(byte_size_text(Bytes{0}), "0B");
  for (const std::int64_t n : {1, 999, 1000, 1024, 123'456'789, 3 << 20, 1 << 30})
    EXPECT_EQ(*parse_bytes(byte_size_text(Bytes{n})), n);
}

}  // namespace
}  // namespace stepscope

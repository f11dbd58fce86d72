// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/parquet.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/read/bytes/parquet_test_files.h"

namespace stepscope {
namespace {

using test::from_hex;

constexpr std::array<std::string_view, 3> names = {"s", "n", "f"};

std::vector<std::string> texts(const ParquetColumn& c) {
  std::vector<std::string> out;
  for (std::size_t r = 0; r < c.text.size(); ++r)
    out.push_back(!c.absent.empty() && c.absent[r] ? "-" : c.texts[c.text[r]]);
  return out;
}

std::string refusal(const std::string& file, std::string_view column = "n") {
  const auto read = read_parquet(file, std::span(&column, 1), "x.parquet");
  return read ? "read" : read.error().message();
}

void expect_the_table(const std::string& file) {
  const auto columns = read_parquet(file, names, "x.parquet");
  ASSERT_TRUE(columns) << columns.error().message();
  ASSERT_EQ(columns->size(), 3U);
  EXPECT_EQ(texts((*columns)[0]), (std::vector<std::string>{"one", "two", "one", "-", "one"}));
  EXPECT_EQ((*columns)[1].integers, (std::vector<std::int64_t>{1, -2, 0, 300000, 1}));
  EXPECT_EQ((*columns)[1].absent, (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ((*columns)[2].type, ParquetType::real32);
  EXPECT_EQ((*columns)[2].reals,
            (std::vector<double>{0.5, 1.25, -3, static_cast<double>(0.1F), 0}));
  EXPECT_EQ((*columns)[2].absent, (std::vector<bool>{false, false, false, false, true}));
}

TEST(Parquet, ReadsDictionariesInSnappy) { expect_the_table(from_hex(test::dictionary_snappy)); }

TEST(Parquet, ReadsPlainValues) { expect_the_table(from_hex(test::plain_uncompressed)); }

TEST(Parquet, JoinsRowGroups) {
  const std::string_view name = "n";
  const auto columns = read_parquet(from_hex(test::row_groups), std::span(&name, 1), "x.parquet");
  ASSERT_TRUE(columns) << columns.error().message();
  std::vector<std::int64_t> squares;
  for (std::int64_t i = 0; i < 100; ++i) squares.push_back(i * i % 37);
  EXPECT_EQ((*columns)[0].integers, squares);
  EXPECT_TRUE((*columns)[0].absent.empty());
}

TEST(Parquet, RefusesByName) {
  EXPECT_EQ(refusal(from_hex(test::zstd_codec)),
            "x.parquet: byte 4: Parquet column n: ZSTD is not read; write PLAIN or RLE_DICTIONARY "
            "values, uncompressed or snappy");
  EXPECT_NE(refusal(from_hex(test::page_v2)).find("n: a data page of version 2 is not read"),
            std::string::npos);
  EXPECT_NE(refusal(from_hex(test::delta)).find("n: DELTA_BINARY_PACKED is not read"),
            std::string::npos);
  EXPECT_NE(refusal(from_hex(test::nested)).find("the nested column l"), std::string::npos);
  EXPECT_EQ(refusal(from_hex(test::delta), "s"), "read");  // only requested columns are decoded
  EXPECT_NE(refusal(from_hex(test::delta), "q").find("lacks the column q"), std::string::npos);
}

TEST(Parquet, SaysWhereAFileIsCut) {
  const std::string file = from_hex(test::dictionary_snappy);
  EXPECT_EQ(refusal(file.substr(0, 200)),
            "x.parquet: byte 200: Parquet: the file does not end in PAR1; it is cut off: copy it "
            "again");
  EXPECT_NE(refusal("PAR1").find("does not end in PAR1"), std::string::npos);
}

// Every damaged byte gives an answer or an error and never a crash (sanitizers check this).
TEST(Parquet, SurvivesDamage) {
  for (const std::string_view hex : {test::dictionary_snappy, test::plain_uncompressed}) {
    const std::string file = from_hex(hex);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < file.size(); ++at) {
      for (const char bits : {'\x01', '\x80', '\xff'}) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ bits);
        const auto read = read_parquet(damaged, names, "x.parquet");
        if (!read) {
          ++refused;
          EXPECT_TRUE(read.error().byte) << at;
        }
      }
    }
    EXPECT_GT(refused, file.size());
  }
}

}  // namespace
}  // namespace stepscope

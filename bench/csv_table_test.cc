// SPDX-License-Identifier: Apache-2.0
#include "csv_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace stepscope::bench {
namespace {

CsvTable parsed(std::string_view text) {
  const auto table = parse_csv(text, "t.csv");
  EXPECT_TRUE(table) << (table ? "" : table.error().message());
  return table ? *table : CsvTable{};
}

std::string complaint(std::string_view text) {
  const auto table = parse_csv(text, "t.csv");
  EXPECT_FALSE(table);
  return table ? std::string() : table.error().message();
}

using Row = std::vector<std::string>;

TEST(CsvTable, ReadsRowsUnderTheirColumns) {
  const CsvTable t = parsed("a,b,c\n1,,3\r\n4,5,\n");
  EXPECT_EQ(t.columns, (Row{"a", "b", "c"}));
  ASSERT_EQ(t.rows.size(), 2U);
  EXPECT_EQ(t.rows[0], (Row{"1", "", "3"}));
  EXPECT_EQ(t.rows[1], (Row{"4", "5", ""}));
  EXPECT_EQ(*column(t, "c"), 2U);
  EXPECT_EQ(column(t, "d").error().what, "column \"d\" is missing");
}

TEST(CsvTable, KeepsWhatQuotesHold) {
  const CsvTable t = parsed("a,b\n\"x, y\",\"say \"\"yes\"\"\"\n\"two\nlines\",2\nlast,\"\"");
  ASSERT_EQ(t.rows.size(), 3U);
  EXPECT_EQ(t.rows[0], (Row{"x, y", "say \"yes\""}));
  EXPECT_EQ(t.rows[1], (Row{"two\nlines", "2"}));
  EXPECT_EQ(t.rows[2], (Row{"last", ""}));
  // A row after a field of two lines begins one line later.
  EXPECT_EQ(t.lines, (std::vector<std::size_t>{2, 3, 5}));
}

TEST(CsvTable, SkipsEmptyLines) {
  const CsvTable t = parsed("\n\na,b\n\n1,2\n\n\n3,4");
  EXPECT_EQ(t.columns, (Row{"a", "b"}));
  EXPECT_EQ(t.rows.size(), 2U);
  EXPECT_EQ(t.lines, (std::vector<std::size_t>{5, 8}));
  EXPECT_TRUE(parsed("a,b\n").rows.empty());
}

TEST(CsvTable, NamesTheLineThatIsWrong) {
  EXPECT_EQ(complaint("a,b\n1,2\n1,2,3\n"), "t.csv: line 3: 3 fields, the header has 2");
  EXPECT_EQ(complaint("a,b\n1\n"), "t.csv: line 2: 1 fields, the header has 2");
  EXPECT_EQ(complaint("a,b\n1,\"2\n3,4\n"), "t.csv: line 2: a quote does not end");
  EXPECT_EQ(complaint(""), "t.csv: holds no header line");
  EXPECT_EQ(complaint("\n\n"), "t.csv: holds no header line");
}

TEST(CsvTable, ReadsAFileOrSaysWhyNot) {
  const auto path = std::filesystem::temp_directory_path() / "stepscope_csv_table_test.csv";
  std::ofstream(path) << "a\n1\n";
  const auto table = read_csv(path.string());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows[0][0], "1");
  std::filesystem::remove(path);
  const auto missing = read_csv(path.string());
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::bench

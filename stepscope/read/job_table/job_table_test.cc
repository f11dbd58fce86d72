// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "stepscope/base/byte_source_test_pack.h"
#include "stepscope/read/bytes/parquet_test_files.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

class JobTableTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name, std::ios::binary) << text;
    return (root_ / name).string();
  }
  [[nodiscard]] std::vector<std::string> found(const std::vector<std::string>& inputs) const {
    std::vector<std::string> names;
    for (const std::string& path : find_job_tables(inputs))
      names.push_back(fs::path(path).filename().string());
    return names;
  }
  const fs::path root_ = fs::path(testing::TempDir()) / ("job_table_" + std::to_string(::getpid()));
  const std::string text_ =
      "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"
      "0,0,0,1,gc,1,2,0,0,0,0\n";
};

using Names = std::vector<std::string>;

TEST_F(JobTableTest, IsFoundByItsFirstBytes) {
  const std::string plain = file("anything", text_);
  const std::string packed = file("trace-A.csv.gz", test::gzip(text_));
  const std::string other = file("steps.csv", "step,time\n1,2\n");
  const std::string json = file("rank0.json", "{}");
  const std::string parquet = file("b.parquet", test::from_hex(test::plain_uncompressed));
  EXPECT_EQ(found({plain, packed, other, json, parquet}),
            (Names{"anything", "trace-A.csv.gz", "b.parquet"}));
  EXPECT_EQ(found({root_.string()}), (Names{"b.parquet", "trace-A.csv.gz"}));
  EXPECT_EQ(found({(root_ / "absent").string()}), Names{});
}

TEST_F(JobTableTest, TakesTheMetaFileOfItsName) {
  const std::string path = file("trace-A.csv.gz", test::gzip(text_));
  file("meta-B.yaml", "dp_size: 3\n");
  auto table = read_job_table(path);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->format, "job_csv");
  EXPECT_EQ(table->operations.size(), 1U);
  EXPECT_EQ(table->warnings,
            Names{"no meta file (meta-A.yaml) beside the table: sizes are taken from its rows"});
  file("meta-A.yaml", "dp_size: 2\n");
  table = read_job_table(path);
  EXPECT_EQ(table->meta.dp_size, 2);
  EXPECT_EQ(fs::path(table->meta_path).filename(), "meta-A.yaml");
  EXPECT_TRUE(table->warnings.empty());
  file("meta-A.yaml", "dp_size: [2]\n");
  table = read_job_table(path);
  ASSERT_EQ(table->errors.size(), 1U);
  EXPECT_NE(table->errors[0].message().find("meta-A.yaml: byte 0: a flow list"), std::string::npos);
  EXPECT_EQ(table->operations.size(), 1U);
}

TEST_F(JobTableTest, TakesTheOnlyMetaFileWhereItsOwnNameIsAnother) {
  file("meta-B.yaml", "dp_size: 3\n");
  EXPECT_EQ(read_job_table(file("job.csv", text_))->meta.dp_size, 3);
  file("meta-C.yaml", "dp_size: 4\n");
  EXPECT_FALSE(read_job_table((root_ / "job.csv").string())->meta.dp_size);
}

TEST_F(JobTableTest, SaysWhatAParquetFileLacks) {
  const auto table = read_job_table(file("x.parquet", test::from_hex(test::plain_uncompressed)));
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message().find("x.parquet: byte 378: the table lacks the column dp_rank"),
            std::string::npos)
      << table.error().message();
}

TEST_F(JobTableTest, SaysThatATableIsCut) {
  const std::string packed = test::gzip(text_ + text_.substr(text_.find('\n') + 1));
  const auto table = read_job_table(file("t.csv.gz", packed.substr(0, packed.size() - 9)));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->errors.size(), 1U);
  EXPECT_TRUE(table->operations.notes.truncated);
}

}  // namespace
}  // namespace stepscope

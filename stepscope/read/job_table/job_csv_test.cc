// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_csv.h"

#include <gtest/gtest.h>

#include "stepscope/base/text_test_source.h"

namespace stepscope {
namespace {

Result<JobOperations> read(std::string_view text, const std::string& damage = {}) {
  TextSource source(text, damage);
  return read_job_csv(source, "x.csv");
}

constexpr std::string_view header =
    "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

TEST(JobCsv, ReadsRows) {
  const auto table = read(std::string(header) +
                          "0,1,2,16,forward-compute,2.5,0.25,3,0,4,1\n"
                          "1,0,-1,-5,gc,1e1,0,0,-1,0,-1\n");
  ASSERT_TRUE(table) << table.error().message();
  ASSERT_EQ(table->size(), 2U);
  EXPECT_EQ(table->dp_rank, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(table->stage, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(table->rank, (std::vector<std::int32_t>{2, -1}));
  EXPECT_EQ(table->step, (std::vector<std::int64_t>{16, -5}));
  EXPECT_EQ(table->op, (std::vector<JobOp>{JobOp::forward_compute, JobOp::garbage_collection}));
  EXPECT_EQ(table->start, (std::vector<Seconds>{Seconds{2.5}, Seconds{10}}));
  EXPECT_EQ(table->duration, (std::vector<Seconds>{Seconds{0.25}, Seconds{0}}));
  EXPECT_EQ(table->seq_id, (std::vector<std::int32_t>{3, 0}));
  EXPECT_EQ(table->mc, (std::vector<std::int32_t>{0, -1}));
  EXPECT_EQ(table->mb_id, (std::vector<std::int32_t>{4, 0}));
  EXPECT_EQ(table->gmc, (std::vector<std::int32_t>{1, -1}));
  EXPECT_TRUE(table->notes.counts.empty());
  EXPECT_EQ(table->notes.events, 2U);
}

TEST(JobCsv, TakesColumnsInAnyOrderQuotesAndDosLineEnds) {
  const auto table = read(
      "\xef\xbb\xbf\"gmc\",,optype,dp_rank,stage,rank,step,start_ts,duration,seq_id,mc,mb_id\r\n"
      "7,\"a,b\",\"optimizer\",0,0,0,1,1,2,3.0,0,0\r\n\r\n");
  ASSERT_TRUE(table) << table.error().message();
  ASSERT_EQ(table->size(), 1U);
  EXPECT_EQ(table->gmc[0], 7);
  EXPECT_EQ(table->op[0], JobOp::optimizer);
  EXPECT_EQ(table->seq_id[0], 3);  // 3.0: pandas' integers in a column with gaps
  EXPECT_EQ(table->notes.counts.size(), 0U);
}

TEST(JobCsv, CountsWhatItCannotUse) {
  const std::string good = "0,0,0,1,gc,1,2,0,0,0,0\n";
  const auto table = read(std::string(header) + good +
                          "0,0,0,1,gc,soon,2,0,0,0,0\n"  // byte 92
                          "0,0,0,1,gc,1,2,0,0,0\n"       //
                          "0,0,0,1,nap,1,2,0,0,0,0\n"    //
                          "0,0,0,1,gc,1,-2,0,0,0,0\n"    //
                          "0,0,0,1,gc,1,nan,0,0,0,0\n"   //
                          "0,0,0,1,gc,1,2,0.5,0,0,0\n"   //
                          "0,99999999,0,1,gc,1,2,0,0,0,0\n" +
                          good);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->size(), 2U);
  EXPECT_EQ(table->notes.events, 9U);
  EXPECT_EQ(table->notes.counts,
            (std::map<std::string, std::uint64_t>{{"not_a_number", 3},
                                                  {"wrong_cell_count", 1},
                                                  {"unknown_optype", 1},
                                                  {"negative_duration", 1},
                                                  {"number_out_of_range", 1}}));
  EXPECT_EQ(table->notes.first_byte.at("not_a_number"), header.size() + good.size());
}

TEST(JobCsv, NamesAMissingColumn) {
  const auto table = read("dp_rank,stage,rank,step,optype,start_ts,seq_id,mc,mb_id,gmc\n");
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message().find("x.csv: byte 0: the table lacks the column duration"),
            std::string::npos);
  EXPECT_FALSE(read(""));
}

TEST(JobCsv, DropsTheLastLineOfACutFile) {
  const std::string text = std::string(header) + "0,0,0,1,gc,1,2,0,0,0,0\n0,0,0,1,gc,1,2,0,0,0,1";
  EXPECT_EQ(read(text)->size(), 2U);  // the last line needs no line end
  const auto cut = read(text, "gzip member cut");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->size(), 1U);
  EXPECT_TRUE(cut->notes.truncated);
}

TEST(JobCsv, ReadsManyWindowsAndPassesOverALineWithoutEnd) {
  std::string text(header);
  const std::string row = "0,0,0,1,gc,1,2,0,0,0,0\n";
  for (int i = 0; i < 100'000; ++i) text += row;
  text += std::string(3'000'000, 'x') + '\n' + row;
  const auto table = read(text);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->size(), 100'001U);
  EXPECT_EQ(table->notes.counts, (std::map<std::string, std::uint64_t>{{"line_too_long", 1}}));
  EXPECT_EQ(table->notes.first_byte.at("line_too_long"), header.size() + 100'000 * row.size());
  EXPECT_EQ(table->text_bytes, text.size());
}

TEST(JobCsv, IsKnownByItsHeader) {
  EXPECT_TRUE(is_job_csv(header));
  EXPECT_TRUE(is_job_csv("optype,\"dp_rank\"\n1,2"));
  EXPECT_FALSE(is_job_csv("step,time\n"));
  EXPECT_FALSE(is_job_csv("{\"dp_rank\": \"optype\"}"));
  EXPECT_FALSE(is_job_csv(""));
}

}  // namespace
}  // namespace stepscope

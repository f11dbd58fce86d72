// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/size_time_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stepscope {
namespace {

std::vector<CommBenchmark> tables_of(std::string_view text, const SizeTimeOptions& options = {}) {
  EXPECT_TRUE(looks_like_size_times(text)) << text;
  auto read = parse_size_times(text, "sizes.csv", options);
  if (read) return std::move(*read);
  ADD_FAILURE() << read.error().message();
  return std::vector<CommBenchmark>(1);
}

TEST(SizeTimeTable, NamesTellTheUnits) {
  const auto plain = tables_of("size,time\n1024,0.00002\n2048,0.00003\n");
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].kind, CollectiveKind::all_reduce);
  ASSERT_EQ(plain[0].points.size(), 2U);
  EXPECT_EQ(plain[0].points[1].bytes.value, 2048);
  EXPECT_DOUBLE_EQ(plain[0].points[1].time.count(), 0.00003);
  EXPECT_EQ(plain[0].notes.at("times_without_a_unit_taken_as_s"), 2U);
  const auto units = tables_of("rank\tlatency_us\tsize_mb\n0\t20\t1.5\n0\t-1\t2\n");
  EXPECT_EQ(units[0].points[0].bytes.value, 1'500'000);
  EXPECT_DOUBLE_EQ(units[0].points[0].time.count(), 20e-6);
  EXPECT_EQ(units[0].notes.at("rows_left_out"), 1U);
  const auto cells = tables_of("bytes;time_ms\n1.5MiB;2\n", {.unit = TimeUnit::us});
  EXPECT_EQ(cells[0].points[0].bytes.value, 1'572'864);
  EXPECT_DOUBLE_EQ(cells[0].points[0].time.count(), 2e-3);
  const auto given =
      tables_of("size,time\n8,5\n", {.kind = CollectiveKind::all_gather, .unit = TimeUnit::us});
  EXPECT_EQ(given[0].kind, CollectiveKind::all_gather);
  EXPECT_DOUBLE_EQ(given[0].points[0].time.count(), 5e-6);
}

TEST(SizeTimeTable, EachCollectiveAndNumberOfRanksIsABenchmark) {
  const auto read = tables_of(
      "collective,ranks,size_bytes,time_s\nAllReduce,8,1024,2e-5\nall-gather,8,1024,1e-5\n"
      "all_reduce,16,1024,3e-5\nallreduce,8,2048,2e-5\n");
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].ranks, 8);
  EXPECT_EQ(read[0].points.size(), 2U);
  EXPECT_EQ(read[1].kind, CollectiveKind::all_gather);
  EXPECT_EQ(read[2].ranks, 16);
  const auto unknown = parse_size_times("op,size,time\nbarrier,8,1\n", "x");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("line 2: \"barrier\""), std::string::npos);
}

TEST(SizeTimeTable, JsonIsReadToo) {
  for (const char* text : {R"([[1024, 2e-5], [2048, 3e-5]])",
                           R"([{"size": 1024, "time": 2e-5}, {"size": 2048, "time": 3e-5}])",
                           R"({"sizes": [1024, 2048], "times": [2e-5, 3e-5]})"}) {
    const auto read = tables_of(text);
    ASSERT_EQ(read[0].points.size(), 2U) << text;
    EXPECT_EQ(read[0].points[1].bytes.value, 2048) << text;
    EXPECT_DOUBLE_EQ(read[0].points[1].time.count(), 3e-5) << text;
  }
}

TEST(SizeTimeTable, MeasurementsOfAFitAreRead) {
  const auto fit = tables_of(
      R"({"alpha_us": 9.8, "r_squared": 0.98, "measurements": [)"
      R"({"size": 1024, "time": 2e-5, "time_std": 1e-6}, {"size": 4096, "time": 3e-5}], "n": 2})");
  ASSERT_EQ(fit[0].points.size(), 2U);
  EXPECT_EQ(fit[0].points[1].bytes.value, 4096);
  EXPECT_DOUBLE_EQ(fit[0].points[1].time.count(), 3e-5);
  EXPECT_FALSE(looks_like_size_times(R"({"measurements": 3})"));
}

TEST(SizeTimeTable, OtherTextsAreNone) {
  for (const char* text :
       {"", "size\n1\n", "step,bytes,time_s\n1,1024,0.5\n", "step_time_ms\n5\n",
        "#       size         count      type   redop    root     time\n1024 256 float sum -1 20\n",
        R"({"version": 1, "config": {"size": 4, "time": 2}})", "[[1, 2, 3], [4, 5, 6]]",
        R"({"kernel": "gemm", "size": [1, 2]})"})
    EXPECT_FALSE(looks_like_size_times(text)) << text;
  EXPECT_FALSE(parse_size_times("size,time\n0,1\n", "x"));
  EXPECT_FALSE(parse_size_times("[[1, 2], [3]]", "x"));
}

TEST(SizeTimeTable, CollectivesHaveOneNameInEverySpelling) {
  EXPECT_EQ(collective_named("Reduce-Scatter"), CollectiveKind::reduce_scatter);
  EXPECT_EQ(collective_named("alltoall"), CollectiveKind::all_to_all);
  EXPECT_FALSE(collective_named("barrier"));
  EXPECT_FALSE(collective_named("gossip"));
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/read_comm_benchmark.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

namespace stepscope {
namespace {

std::vector<CommBenchmark> benchmarks_of(std::string_view text, std::string_view path = "out.txt") {
  auto b = parse_comm_benchmark(text, path);
  EXPECT_TRUE(b) << b.error().message();
  return b ? std::move(*b) : std::vector<CommBenchmark>{};
}

CommBenchmark benchmark_of(std::string_view text, std::string_view path = "out.txt") {
  auto all = benchmarks_of(text, path);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? CommBenchmark{} : std::move(all.front());
}

constexpr const char* titles =
    "#                                                              out-of-place                "
    "       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)       \n";

TEST(CommBenchmark, OfNcclTests) {
  const CommBenchmark b = benchmark_of(
      std::string(
          "# nccl-tests version 2.17.8 nccl-headers=22403 nccl-library=22902\n"
          "# Collective test starting: all_reduce_perf\n"
          "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 "
          "iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
          "#  Rank  0 Group  0 Pid 123 on nodeA device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n"
          "#  Rank  1 Group  0 Pid 124 on nodeA device  1 [0000:08:00] NVIDIA H100 80GB HBM3\n"
          "#  Rank  2 Group  0 Pid 125 on nodeB device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n"
          "#  Rank  3 Group  0 Pid 126 on nodeB device  1 [0000:08:00] NVIDIA H100 80GB HBM3\n") +
      titles +
      "           0             0     float     sum      -1     0.20    0.00    0.00      0     "
      "0.20   "
      " 0.00    0.00      0\n"
      "nodeA:123:123 [0] NCCL INFO Bootstrap: Using eth0\n"
      "     1048576        262144     float     sum      -1    100.0   10.49   15.73      0    "
      "50.00   "
      "20.97   31.46    N/A\n"
      "     2097152        524288     float     sum      -1    150.0   13.98   20.97      0    "
      "140.0   "
      "14.98   22.47      5\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.0\n");
  EXPECT_EQ(b.tool, "nccl-tests");
  EXPECT_EQ(b.test, "all_reduce_perf");
  EXPECT_EQ(b.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(b.ranks, 4);
  EXPECT_EQ(b.hosts, 2);
  EXPECT_TRUE(b.same_ranks_per_host);
  EXPECT_EQ(b.device, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(b.points.size(), 3U);
  EXPECT_EQ(b.points[0].bytes.value, 1048576);
  EXPECT_DOUBLE_EQ(b.points[0].time.count(), 100e-6);
  EXPECT_FALSE(b.points[0].in_place);
  EXPECT_TRUE(b.points[1].in_place);
  EXPECT_DOUBLE_EQ(b.points[2].time.count(), 150e-6);
  EXPECT_EQ(b.notes.at("rows_with_wrong_results"), 1U);
}

// The column titles show where the times are: without a root, with `error`, with more columns.
TEST(CommBenchmark, OfOtherVersionsAndBehindALauncher) {
  const CommBenchmark old = benchmark_of(
      "[1,0]<stdout>:$ ./build/all_gather_perf -b 8 -e 128M -f 2\n"
      "[1,0]<stdout>:#   Rank  0 Pid  12345 on node1 device  0 [0x07] Tesla V100-SXM2-32GB\n"
      "[1,0]<stdout>:#   Rank  1 Pid  12345 on node1 device  1 [0x0a] Tesla V100-SXM2-32GB\n"
      "[1,0]<stdout>:#       size         count    type     time   algbw   busbw  error     time   "
      "algbw   busbw  error\n"
      "[1,0]<stdout>:     1048576        131072   float    66.86   15.68    7.84  0e+00    66.60   "
      "15.74    7.87  0e+00\n");
  EXPECT_EQ(old.kind, CollectiveKind::all_gather);
  EXPECT_EQ(old.ranks, 2);
  ASSERT_EQ(old.points.size(), 2U);
  EXPECT_DOUBLE_EQ(old.points[1].time.count(), 66.60e-6);
  const CommBenchmark more = benchmark_of(
      "# Collective test starting: reduce_scatter_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong  "
      "i_min  "
      "i_max     time   algbw   busbw  #wrong  i_min  i_max\n"
      "1048576 65536 float sum -1 20.0 52.43 39.32 0 19.0 25.0 21.0 49.93 37.45 0 19.0 26.0\n");
  EXPECT_EQ(more.kind, CollectiveKind::reduce_scatter);
  ASSERT_EQ(more.points.size(), 2U);
  EXPECT_DOUBLE_EQ(more.points[1].time.count(), 21e-6);
  EXPECT_EQ(more.ranks, 4);  // 39.32 / 52.43 = 3 / 4
}

// nccl-tests 2.0 to 2.12 leave the column of a missing reduction blank.
TEST(CommBenchmark, OfAnAllToAllWithABlankColumn) {
  std::string ranks;
  for (int r = 0; r < 8; ++r)
    ranks += "#   Rank  " + std::to_string(r) + " Pid 7 on h device  0 [0x00] A100-SXM4-40GB\n";
  const CommBenchmark b = benchmark_of(ranks +
                                       "#       size         count    type   redop     time   "
                                       "algbw   busbw  error     time   algbw   "
                                       "busbw  error\n"
                                       "   134217728       4194304   float            633.6  "
                                       "211.83  185.35    N/A    620.9  216.17  "
                                       "189.15    N/A\n");
  EXPECT_EQ(b.kind, CollectiveKind::all_to_all);
  ASSERT_EQ(b.points.size(), 2U);
  EXPECT_DOUBLE_EQ(b.points[0].time.count(), 633.6e-6);
}

TEST(CommBenchmark, WhatTheFiguresTellWhereTheTextDoesNot) {
  const std::string row =
      "134217728 33554432 float sum -1 857.6 156.51 273.89 0 819.6 163.76 286.58 0\n";
  std::string ranks;
  for (int r = 0; r < 8; ++r)
    ranks += "#  Rank  " + std::to_string(r) + " Group  0 Pid 1 on h device  0 [0x07] X\n";
  EXPECT_EQ(benchmark_of(ranks + titles + row).kind, CollectiveKind::all_reduce);
  const CommBenchmark named = benchmark_of(titles + row, "runs/all_reduce_perf.txt");
  EXPECT_EQ(named.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(named.ranks, 8);
  // No rank is named: 2 (n - 1) / n above 1 is that of all-reduce, (n - 1) / n of reduce-scatter.
  const CommBenchmark eight = benchmark_of(titles + row);
  EXPECT_EQ(eight.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(eight.ranks, 8);
  const CommBenchmark four = benchmark_of(
      std::string(titles) + "1048576 65536 float sum -1 20.0 52.43 39.32 0 21.0 49.93 37.45 0\n");
  EXPECT_EQ(four.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(four.ranks, 4);
  // All-reduce of two ranks and reduce both have a factor of 1.
  EXPECT_FALSE(parse_comm_benchmark(
      std::string(titles) + "1048576 65536 float sum -1 20.0 52.43 52.43 0 21.0 49.93 49.93 0\n",
      "x"));
  // All-gather and all-to-all have the same columns.
  const auto either = parse_comm_benchmark(
      ranks + titles + "1048576 65536 float none -1 20.0 52.43 45.88 0 21.0 49.93 43.69 0\n", "x");
  ASSERT_FALSE(either);
  EXPECT_NE(either.error().message().find("which collective"), std::string::npos);
}

// The row of `kib` KiB of floats: `share` is the ranks whose counts share the buffer.
std::string row_of(int kib, double us, double factor, const char* redop, int share = 1) {
  const double rate = kib * 1024 / us / 1e3;
  const auto figures = [&] {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "  %.2f  %.2f  %.2f  0", us, rate, factor * rate);
    return std::string(text.data());
  };
  return std::to_string(kib * 1024) + "  " + std::to_string(kib * 256 / share) + "  float  " +
         redop + "  -1" + figures() + figures() + '\n';
}

std::string rank_lines(int ranks, int on_each) {
  std::string lines;
  for (int r = 0; r < ranks; ++r)
    lines += "#  Rank  " + std::to_string(r) + " Group  0 Pid 9 on n" +
             std::to_string(r / on_each) + " device  0 [0000:07:00] X\n";
  return lines;
}

TEST(CommBenchmark, TestsOfAFileAreNotOne) {
  std::string text;
  for (const auto& [test, factor, share] :
       {std::tuple{"all_reduce", 1.5, 1}, std::tuple{"all_gather", 0.75, 4}})
    text += std::string("# Collective test starting: ") + test + "_perf\n" + rank_lines(4, 2) +
            titles + row_of(1024, 100 / factor, factor, share > 1 ? "none" : "sum", share) +
            row_of(4096, 400 / factor, factor, share > 1 ? "none" : "sum", share) +
            "# Collective test concluded: " + test + "_perf\n";
  const auto all = benchmarks_of(text);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ(all[1].kind, CollectiveKind::all_gather);
  for (const CommBenchmark& b : all) {
    EXPECT_EQ(b.points.size(), 4U);
    EXPECT_EQ(b.ranks, 4);
    EXPECT_EQ(b.hosts, 2);
  }
}

TEST(CommBenchmark, ARepeatedTestIsOneAndSaysSo) {
  const std::string once =
      rank_lines(4, 4) + titles + row_of(1024, 100, 1.5, "sum") + row_of(2048, 150, 1.5, "sum");
  const CommBenchmark twice = benchmark_of(once + once);
  EXPECT_EQ(twice.points.size(), 8U);
  EXPECT_EQ(twice.notes.at("tables_of_the_same_test"), 2U);
  // A cycle of the same test prints no titles.
  const CommBenchmark cycles =
      benchmark_of(once + row_of(1024, 101, 1.5, "sum") + row_of(2048, 151, 1.5, "sum"));
  EXPECT_EQ(cycles.ranks, 4);
  EXPECT_EQ(cycles.points.size(), 8U);
  // Titles that are printed again within the sizes begin nothing.
  EXPECT_FALSE(benchmark_of(once + titles + row_of(4096, 300, 1.5, "sum"))
                   .notes.contains("tables_of_the_same_test"));
}

TEST(CommBenchmark, TwoPlacesThatTheTextDoesNotNameAreAskedFor) {
  const auto run = [](const char* command, double us) {
    return std::string(command) + "\n\n# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg " +
           "Latency(us)\n4 " + std::to_string(us) + "\n8 " + std::to_string(1.1 * us) + '\n';
  };
  const auto unknown = parse_comm_benchmark(run("", 1.5) + run("", 20), "two.txt");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("on which hosts"), std::string::npos);
  EXPECT_EQ(benchmark_of(run("", 1.5) + run("", 1.6)).points.size(), 4U);
  const auto named = benchmarks_of(run("mpirun -np 2 ./osu_allreduce", 1.5) +
                                   run("mpirun -np 2 -map-by ppr:1:node ./osu_allreduce", 20));
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].ranks, 2);
  EXPECT_EQ(named[0].hosts, 0);
  EXPECT_EQ(named[1].hosts, 2);
}

TEST(CommBenchmark, ATableWithoutANameIsAskedForByItsLine) {
  const std::string text = "# Collective test starting: all_reduce_perf\n" + rank_lines(4, 4) +
                           titles + row_of(1024, 100, 1.5, "sum") + titles +
                           row_of(512, 100, 0.75, "none", 4);
  const auto refused = parse_comm_benchmark(text, "x.txt");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("that from line 13 on"), std::string::npos)
      << refused.error().message();
  const auto given = parse_comm_benchmark(text, "x.txt", CollectiveKind::all_gather);
  ASSERT_TRUE(given);
  ASSERT_EQ(given->size(), 2U);
  EXPECT_EQ((*given)[1].kind, CollectiveKind::all_gather);
  EXPECT_EQ((*given)[1].ranks, 4);
}

TEST(CommBenchmark, RowsWithoutTitlesShowThemselves) {
  const CommBenchmark b =
      benchmark_of(row_of(32768, 195.4, 1.75, "sum") + "17 9 float 3 4 5 6 7 8 9 10\n" +
                   row_of(65536, 380.0, 1.75, "sum"));
  EXPECT_EQ(b.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(b.ranks, 8);
  EXPECT_EQ(b.points.size(), 4U);
  const CommBenchmark named = benchmark_of(row_of(1024, 113.7, 0.5, "none", 2) +
                                           "# Collective test concluded: alltoall_perf\n");
  EXPECT_EQ(named.kind, CollectiveKind::all_to_all);
  EXPECT_EQ(named.ranks, 2);
  // The rate is not the size over the time.
  EXPECT_FALSE(
      parse_comm_benchmark("1048576 262144 float sum -1 100 99.0 173 0 100 99.0 173 0\n", "x.txt"));
}

TEST(CommBenchmark, TheFiguresDecideWhereAListIsCut) {
  const std::string rows = titles + row_of(524288, 1806.7, 142.0 / 72, "sum");
  const CommBenchmark last =
      benchmark_of("#  Rank 71 Group  0 Pid 1 on r-171 device  3 [0x01] X\n" + rows);
  EXPECT_EQ(last.ranks, 72);
  EXPECT_EQ(last.hosts, 0);
  EXPECT_EQ(last.notes.at("lists_some_of_its_ranks"), 1U);
  const CommBenchmark first = benchmark_of(rank_lines(8, 8) + rows);
  EXPECT_EQ(first.ranks, 72);
  EXPECT_EQ(first.hosts, 0);
  // The rates are too small, and the command says it.
  const CommBenchmark launched = benchmark_of("mpirun -np 16 ./build/all_gather_perf -b 64 -g 1\n" +
                                              (titles + row_of(1, 33, 15.0 / 16, "none", 16)));
  EXPECT_EQ(launched.ranks, 16);
}

TEST(CommBenchmark, OfNcclTestsJson) {
  const CommBenchmark b = benchmark_of(
      R"({"version": "2.18", "args": ["./broadcast_perf", "-J", "x"], "config": {"devices": [
          {"rank": 0, "hostname": "a", "device_info": "NVIDIA H100"},
          {"rank": 1, "hostname": "b", "device_info": "NVIDIA H100"}]},
          "results": [{"size": 1024, "out_of_place": {"time": 10.5, "nwrong": 0},
          "in_place": {"time": 9.5, "nwrong": 0}}, {"size": 0, "out_of_place": {"time": 1}}]})");
  EXPECT_EQ(b.kind, CollectiveKind::broadcast);
  EXPECT_EQ(b.ranks, 2);
  EXPECT_EQ(b.hosts, 2);
  ASSERT_EQ(b.points.size(), 2U);
  EXPECT_DOUBLE_EQ(b.points[1].time.count(), 9.5e-6);
}

TEST(CommBenchmark, OfOsu) {
  const CommBenchmark latency = benchmark_of(
      "\n# OSU MPI Latency Test v5.3.2\n# Size          Latency (us)\n0                       "
      "0.29\n"
      "1                       0.32\n[a100:mpi_rank_0] Warning 17\n65536                   9.00\n");
  EXPECT_EQ(latency.kind, CollectiveKind::send_recv);
  EXPECT_EQ(latency.ranks, 2);
  EXPECT_FALSE(latency.many_at_once);
  ASSERT_EQ(latency.points.size(), 2U);
  EXPECT_DOUBLE_EQ(latency.points[1].time.count(), 9e-6);
  const CommBenchmark gather = benchmark_of(
      "# OSU MPI-CUDA Allgather Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg "
      "Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n1024   12.34  11.0 13.5 "
      "1000\n");
  EXPECT_EQ(gather.kind, CollectiveKind::all_gather);
  EXPECT_TRUE(gather.per_rank);
  EXPECT_EQ(gather.ranks, 0);
  EXPECT_DOUBLE_EQ(gather.points[0].time.count(), 12.34e-6);
  const CommBenchmark bandwidth = benchmark_of(
      "# OSU MPI Bandwidth Test v5.3.2\n# Size      Bandwidth (MB/s)\n1       3.00\n4194304  "
      "10694.19\n");
  EXPECT_TRUE(bandwidth.many_at_once);
  EXPECT_DOUBLE_EQ(*bandwidth.best_rate, 10694.19e6);
}

TEST(CommBenchmark, WhatIsNoBenchmarkIsRefused) {
  for (const char* text : {"", "hello\n", "# Size\n1 2\n", "{}", "# size time\nx y\n"}) {
    const auto b = parse_comm_benchmark(text, "x.txt");
    ASSERT_FALSE(b) << text;
    EXPECT_NE(b.error().message().find("x.txt"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepscope

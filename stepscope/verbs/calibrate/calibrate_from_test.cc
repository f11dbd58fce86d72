// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/calibrate/calibrate_from.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace stepscope {
namespace {

TEST(CalibrateFrom, KeepsAndTellsFilesThatGiveNothing) {
  std::vector<std::string> told;
  const auto result =
      calibrate_from({.files = {"none.txt"}},
                     {.failed = [&told](const Error& error) { told.push_back(error.file); }});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->fit);
  ASSERT_EQ(result->failures.size(), 1U);
  EXPECT_EQ(told, std::vector<std::string>{"none.txt"});
}

TEST(CalibrateFrom, AStopWhileAFileIsReadIsNoAnswer) {
  StopFlag stop;
  const auto result =
      calibrate_from({.files = {"none.txt"}},
                     {.failed = [&stop](const Error&) { stop.request(); }, .stop = &stop});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::interrupted);
}

TEST(CalibrateFrom, WithoutADeviceAMachineHasToBeGiven) {
  const std::string path = testing::TempDir() + "all_reduce_perf.txt";
  std::ofstream(path) << "# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1048576 step: 2(factor) "
                         "warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
                         "#       size         count      type   redop    root     time   algbw   "
                         "busbw #wrong     time   algbw   busbw #wrong\n"
                         "     1048576        262144     float     sum      -1    45.10   23.25   "
                         "40.69      0    44.90   23.35   40.87      0\n";
  const auto unknown = calibrate_from({.files = {path}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("give --machine"), std::string::npos);
  const auto known =
      calibrate_from({.files = {path}, .machine = "h100_sxm_80gb", .place = {.ranks = 8}});
  ASSERT_TRUE(known) << known.error().message();
  ASSERT_TRUE(known->fit) << (known->failures.empty() ? "" : known->failures[0].message());
  EXPECT_EQ(known->benchmarks.size(), 1U);
}

// Vendors build nodes of four and of eight such devices.
TEST(CalibrateFrom, AMachineWithoutADomainAsksForItsOwnFlag) {
  const std::string path = testing::TempDir() + "of_a_node.txt";
  std::ofstream(path) << "# Collective test starting: all_reduce_perf\n"
                         "1048576 262144 float sum -1 45.10 23.25 40.69 0 44.90 23.35 40.87 0\n";
  const auto unknown = calibrate_from({.files = {path}, .machine = "gh200_96gb"});
  ASSERT_TRUE(unknown);
  ASSERT_EQ(unknown->failures.size(), 1U);
  EXPECT_NE(unknown->failures[0].message().find("--gpus-per-node"), std::string::npos);
  const auto known = calibrate_from({.files = {path}, .machine = "gh200_96gb", .gpus_per_node = 8});
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->fit) << (known->failures.empty() ? "" : known->failures[0].message());
}

// 20 us + size / 100 GB/s on eight ranks.
TEST(CalibrateFrom, ATableOfSizesAndTimesIsFitted) {
  const std::string path = testing::TempDir() + "sizes.csv";
  std::ofstream table(path);
  table << "size,time\n";
  for (double size = 1024; size <= 1 << 28; size *= 4)
    table << size << ',' << 20e-6 + size / 100e9 << '\n';
  table.close();
  const auto result =
      calibrate_from({.files = {path}, .machine = "h100_sxm_80gb", .place = {.ranks = 8}});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->fit) << (result->failures.empty() ? "" : result->failures[0].message());
  const auto& fit = result->fit->transfers.front();
  EXPECT_EQ(fit.kind, CollectiveKind::all_reduce);
  ASSERT_TRUE(fit.answer.fit);
  EXPECT_NEAR(fit.answer.fit->pieces.front().start, 20e-6, 1e-6);
  EXPECT_TRUE(
      result->benchmarks.front().benchmark.notes.contains("times_without_a_unit_taken_as_s"));
  const auto no_ranks = calibrate_from({.files = {path}, .machine = "h100_sxm_80gb"});
  ASSERT_TRUE(no_ranks);
  EXPECT_NE(no_ranks->failures.front().message().find("--ranks"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

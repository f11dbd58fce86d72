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

}  // namespace
}  // namespace stepscope

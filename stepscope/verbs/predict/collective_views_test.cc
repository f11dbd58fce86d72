// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/collective_views.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/verbs/predict/predict_test_results.h"

namespace stepscope {

namespace {

using namespace test;

TEST(CollectiveJson, GivesRatesOfEveryAlgorithmInJson) {
  const Json tree = collective_tree(two_sizes());
  ASSERT_EQ(tree["sizes"].size(), 2U);
  const Json& ring = tree["sizes"][1]["algorithms"][0];
  EXPECT_EQ(ring["name"], "ring");
  EXPECT_DOUBLE_EQ(ring["time_ns"].get<double>(), 20'000);
  EXPECT_DOUBLE_EQ(ring["algbw_gb_per_s"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(ring["busbw_gb_per_s"].get<double>(), 100.0 * 15 / 16);
  EXPECT_EQ(tree["crossovers"][0]["bytes"], 40'000);
}

TEST(Tables, HasACsvRowForEachSizeAndAlgorithm) {
  const std::string csv = csv_files(collective_tables(collective_tree(two_sizes()))).front().text;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 6);
  EXPECT_NE(csv.find("all_gather,16,2000000,ring,Simple,true,"), std::string::npos) << csv;
}

using namespace test;

TEST(CollectiveText, PrintsEveryAlgorithmTheBestAndTheCrossover) {
  const std::string text = collective_text(two_sizes());
  EXPECT_NE(text.find("all_gather · M · 16 devices in 2 domains"), std::string::npos) << text;
  EXPECT_NE(text.find("(30.0 µs)"), std::string::npos) << text;
  EXPECT_NE(text.find("In brackets"), std::string::npos);
  EXPECT_NE(text.find("From 40.0 kB: ring (Simple) instead of tree"), std::string::npos) << text;
  EXPECT_NE(text.find("1 us + S / 100 GB/s"), std::string::npos);
  EXPECT_NE(text.find("note: a guess"), std::string::npos);
}

}  // namespace

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/collective_report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepscope {
namespace {

AlgorithmTime algorithm(Algorithm a, double us, bool offered = true) {
  return {.algorithm = a,
          .protocol = Protocol::simple,
          .offered = offered,
          .time = Seconds{us * 1e-6},
          .formula = "1 us + S / 100 GB/s"};
}

// Two sizes, of which the ring is best for the larger.
PredictCollectiveResult made() {
  PredictCollectiveResult result{.machine = "M", .sweep = {}, .warnings = {"a guess"}};
  CollectiveSweep& sweep = result.sweep;
  sweep.kind = CollectiveKind::all_gather;
  sweep.group = {.size = 16, .members = 8, .domains = 2};
  const AlgorithmTime tree = algorithm(Algorithm::tree, 10);
  const AlgorithmTime ring = algorithm(Algorithm::ring, 20);
  const AlgorithmTime other = algorithm(Algorithm::hierarchical, 30, false);
  sweep.points = {{Bytes{1000}, {tree, ring, other}, tree, ByteRate{9e7}},
                  {Bytes{2'000'000}, {ring, tree}, ring, ByteRate{9e10}}};
  sweep.crossovers = {
      {Bytes{40'000}, Algorithm::tree, Protocol::ll, Algorithm::ring, Protocol::simple}};
  return result;
}

TEST(CollectiveReport, PrintsEveryAlgorithmTheBestAndTheCrossover) {
  const std::string text = collective_text(made());
  EXPECT_NE(text.find("all_gather · M · 16 devices in 2 domains"), std::string::npos) << text;
  EXPECT_NE(text.find("(30.0 µs)"), std::string::npos) << text;
  EXPECT_NE(text.find("In brackets"), std::string::npos);
  EXPECT_NE(text.find("From 40.0 kB: ring (Simple) instead of tree"), std::string::npos) << text;
  EXPECT_NE(text.find("1 us + S / 100 GB/s"), std::string::npos);
  EXPECT_NE(text.find("note: a guess"), std::string::npos);
}

TEST(CollectiveReport, GivesRatesOfEveryAlgorithmInJson) {
  const Json tree = collective_tree(made());
  ASSERT_EQ(tree["sizes"].size(), 2U);
  const Json& ring = tree["sizes"][1]["algorithms"][0];
  EXPECT_EQ(ring["name"], "ring");
  EXPECT_DOUBLE_EQ(ring["time_ns"].get<double>(), 20'000);
  EXPECT_DOUBLE_EQ(ring["algbw_gb_per_s"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(ring["busbw_gb_per_s"].get<double>(), 100.0 * 15 / 16);
  EXPECT_EQ(tree["crossovers"][0]["bytes"], 40'000);
}

TEST(CollectiveReport, HasACsvRowForEachSizeAndAlgorithm) {
  const std::string csv = collective_csv(made()).text;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 6);
  EXPECT_NE(csv.find("all_gather,16,2000000,ring,Simple,true,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace stepscope

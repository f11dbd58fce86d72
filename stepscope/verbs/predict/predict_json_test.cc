// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_json.h"

#include <gtest/gtest.h>

#include "stepscope/verbs/predict/predict_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PredictJson, SaysWhetherThePlanFits) {
  Predicted p;
  p.report.cost.memory.bytes[0] = 100e9;
  EXPECT_EQ(predict_tree(p.report)["memory"]["fits"], false);
}

TEST(PredictJson, HoldsWhatLiesOnTheHostAgainstItsSize) {
  Predicted p;
  p.report.cost.memory.host_bytes = 300e9;
  EXPECT_EQ(predict_tree(p.report)["memory"]["fits"], true);
  EXPECT_TRUE(predict_tree(p.report)["memory"]["host_capacity_bytes"].is_null());
  p.report.machine.host = Host{};
  p.report.machine.host->memory = Bytes{250'000'000'000};
  EXPECT_EQ(predict_tree(p.report)["memory"]["fits"], false);
  EXPECT_EQ(predict_tree(p.report)["memory"]["host_capacity_bytes"], 250'000'000'000);
}

TEST(PredictJson, LeavesFitsOpenWhereTheMemoryIsUnknown) {
  Predicted p;
  p.report.machine.memory.reset();
  const Json tree = predict_tree(p.report);
  EXPECT_TRUE(tree["memory"]["fits"].is_null());
  EXPECT_TRUE(tree["memory"]["headroom_bytes"].is_null());
}

TEST(PredictJson, GivesTheCostWhereAPriceIsKnown) {
  Predicted p;
  EXPECT_TRUE(predict_tree(p.report)["cost"].is_null());
  p.report.price_per_gpu_hour = 3.6;
  EXPECT_DOUBLE_EQ(predict_tree(p.report)["cost"]["per_step"].get<double>(), 4 * 3 * 1e-3);
}

TEST(Tables, ComparedPlansHaveATable) {
  Predicted p;
  EXPECT_EQ(csv_files(predict_tables(predict_tree(p.report))).size(), 3U);
  p.report.comparison.push_back({.label = "zero=0", .plan = p.report.plan, .cost = p.report.cost});
  EXPECT_EQ(csv_files(predict_tables(predict_tree(p.report))).back().name, "comparison.csv");
}

}  // namespace
}  // namespace stepscope

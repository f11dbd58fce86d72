// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/calibrate_json.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

TEST(CalibrateJson, MeasurementsStandBesideTheirLine) {
  const Json tree = calibrate_tree(test::calibrated(), "box.json");
  EXPECT_EQ(tree["file"], "box.json");
  EXPECT_EQ(tree["ranks"], 2);
  EXPECT_EQ(tree["machine"]["peaks"][0]["dtype"], "fp32");
  ASSERT_EQ(tree["collectives"].size(), 8U);
  for (const Json& row : tree["collectives"]) {
    EXPECT_NEAR(row["fitted_ns"].get<double>(), row["measured_ns"].get<double>(),
                0.01 * row["measured_ns"].get<double>());
    EXPECT_LT(row["low_ns"], row["measured_ns"]);
    EXPECT_GT(row["high_ns"], row["measured_ns"]);
    EXPECT_EQ(row["calls"], 7);
    EXPECT_TRUE(row["before_ns"].is_null());
  }
  // All-reduce of two ranks: busbw is the buffer over the time.
  const Json& largest = tree["collectives"].back();
  EXPECT_NEAR(largest["busbw_gb_per_s"].get<double>(),
              largest["bytes"].get<double>() / largest["measured_ns"].get<double>(), 1e-9);
  EXPECT_EQ(tree["link_fits"].size(), 1U);
}

TEST(CalibrateJson, WhatWasNotMeasuredIsNull) {
  CalibrateResult one = test::calibrated();
  one.measured.collectives.clear();
  const Json tree = calibrate_tree(one, "box.json");
  EXPECT_TRUE(tree["errors"]["collectives"].is_null());
  EXPECT_TRUE(tree["errors"]["operations"].is_null());
  EXPECT_TRUE(tree["machine"]["drive_read_gb_per_s"].is_null());
  EXPECT_TRUE(tree["link_fits"].empty());
}

}  // namespace
}  // namespace stepscope

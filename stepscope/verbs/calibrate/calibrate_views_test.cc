// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/calibrate/calibrate_views.h"

#include <gtest/gtest.h>

#include "stepscope/say/say.h"
#include "stepscope/verbs/calibrate/calibrate_test_results.h"
#include "stepscope/verbs/sections/link_test_results.h"

namespace stepscope {

namespace {

TEST(CalibrateSentence, TellsPeakMemoryLinksAndHowWellTheModelAgrees) {
  const CalibrateResult r = test::calibrated();
  EXPECT_EQ(say_stopped(calibrate_sentence(r, fit_transfers(r.measured.collectives))),
            "box: 200 GFLOP/s fp32 and 10.0 GB/s of memory a core; all-reduce of 2 ranks: α 20.0 "
            "µs, β 100 GB/s. The model is off by 5.0 % on kernels and by 10.0 % on links.");
}

TEST(CalibrateSentence, OneRankHasNoLinks) {
  CalibrateResult r = test::calibrated();
  r.measured.collectives.clear();
  r.made.machine.peak_rates[index(Dtype::bf16)] = FlopRate{3.6e12};
  EXPECT_EQ(say_stopped(calibrate_sentence(r, {})),
            "box: 200 GFLOP/s fp32, 3.60 TFLOP/s bf16 and 10.0 GB/s of memory a core. The model is "
            "off by 5.0 % on kernels.");
}

TEST(CalibrateSentence, AnAllReduceOfTheLargestGroupSpeaks) {
  std::vector<TransferFit> fits(3, test::fit_of_sizes({1e3, 1e5, 1e7}));
  fits[0].kind = CollectiveKind::all_gather;
  fits[0].group_size = 64;
  fits[2].group_size = 16;
  EXPECT_EQ(speaking_fit(fits), &fits[2]);
  fits.resize(1);
  EXPECT_EQ(speaking_fit(fits), &fits[0]);
  fits[0].answer.fit.reset();
  EXPECT_EQ(speaking_fit(fits), nullptr);
}

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

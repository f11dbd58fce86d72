// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/run_sentences.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"
#include "stepscope/say/say.h"

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
  r.measured.peaks[index(Dtype::bf16)] = FlopRate{3.6e12};
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

}  // namespace
}  // namespace stepscope

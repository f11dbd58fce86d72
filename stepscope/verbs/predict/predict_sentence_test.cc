// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_sentence.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/say/say.h"
#include "stepscope/verbs/predict/predict_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PredictSentence, SaysWhatDoesNotFit) {
  Predicted p;
  EXPECT_EQ(say(predict_sentence(p.report)).find("does not fit"), std::string::npos);
  p.report.cost.memory.bytes[0] = 100e9;
  EXPECT_NE(say(predict_sentence(p.report)).find("It does not fit: each device lacks 20.0 GB"),
            std::string::npos);
  p.report.cost.memory.bytes[0] = 50e9;
  p.report.cost.memory.host_bytes = 300e9;
  p.report.machine.host = Host{};
  p.report.machine.host->memory = Bytes{250'000'000'000};
  EXPECT_NE(say(predict_sentence(p.report)).find("each device lacks 50.0 GB of host memory"),
            std::string::npos);
}

TEST(PredictSentence, SaysThatNothingIsHalvedWithoutACausalMask) {
  Predicted p;
  EXPECT_NE(say(predict_sentence(p.report)).find("MFU (causal attention halved)"),
            std::string::npos);
  p.report.model.causal = false;
  EXPECT_NE(say(predict_sentence(p.report)).find("MFU (no causal mask)"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

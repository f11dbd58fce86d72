// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "stepscope/verbs/predict/predict_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PredictText, PrintsSharesThatSumToTheStep) {
  const Predicted p;
  std::istringstream lines(predict_text(p.report));
  std::int64_t tenths = 0;
  std::string line;
  while (std::getline(lines, line) && line != "Where the step goes:") {
  }
  while (std::getline(lines, line) && !line.empty()) {
    const std::size_t percent = line.find(" %");
    ASSERT_NE(percent, std::string::npos) << line;
    tenths += std::llround(std::stod(line.substr(line.rfind(' ', percent - 1))) * 10);
  }
  EXPECT_EQ(tenths, 1000);
}

TEST(PredictText, SaysByHowMuchItFitsOrDoesNot) {
  Predicted p;
  EXPECT_NE(predict_text(p.report).find("50.0 GB of 80.0 GB, 30.0 GB to spare"), std::string::npos);
  p.report.cost.memory.host_bytes = 300e9;
  p.report.machine.host = Host{};
  p.report.machine.host->memory = Bytes{250'000'000'000};
  EXPECT_NE(predict_text(p.report).find("300 GB of 250 GB: 50.0 GB TOO MUCH"), std::string::npos);
}

TEST(PredictText, ComparesPlansAndSaysWhyOneCannotRun) {
  Predicted p;
  p.report.comparison.push_back({.label = "zero=0", .plan = p.report.plan, .cost = p.report.cost});
  p.report.comparison.push_back(
      {.label = "zero=9", .plan = p.report.plan, .cost = {}, .why_not = "no such stage"});
  const std::string text = predict_text(p.report);
  EXPECT_NE(text.find("zero=0"), std::string::npos);
  EXPECT_NE(text.find("no such stage"), std::string::npos) << text;
}

TEST(PredictText, SharesOfMemorySayOfWhat) {
  Predicted p;
  EXPECT_NE(predict_text(p.report).find("of 80.0 GB\n"), std::string::npos)
      << predict_text(p.report);
  p.report.machine.memory.reset();
  EXPECT_NE(predict_text(p.report).find("of all\n"), std::string::npos);
}

TEST(PredictText, ComparedPlansSayHowMuchTheirStatesShrink) {
  Predicted p;
  StepCost sharded = p.report.cost;
  sharded.memory.bytes[static_cast<std::size_t>(MemoryTerm::parameters)] /= 4;
  sharded.memory.bytes[static_cast<std::size_t>(MemoryTerm::activations)] = 1e9;
  p.report.comparison.push_back({.label = "zero=0", .plan = p.report.plan, .cost = p.report.cost});
  p.report.comparison.push_back({.label = "zero=3", .plan = p.report.plan, .cost = sharded});
  const std::string text = predict_text(p.report);
  EXPECT_NE(text.find("12.5 GB   4.00 ×"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/verbs/predict/peak_budget.h"
#include "stepscope/verbs/predict/predict_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PredictText, AShareReadsAlikeInTheSentenceAndInTheAccount) {
  Predicted p;
  p.report.cost.seconds[static_cast<std::size_t>(StepTerm::matmul)] = 4.886;  // 70.957 %
  const std::string text = predict_text(p.report);
  EXPECT_NE(text.find("matrix products (71.0 %)"), std::string::npos) << text;
  const std::size_t account = text.find("Where the step goes:");
  EXPECT_NE(text.find("71.0 %", account), std::string::npos) << text;
}

TEST(PredictText, TheRowsOfThePeakSumToTheStep) {
  Predicted p;
  p.report.hfu = 0.4;
  p.report.cost.seconds[static_cast<std::size_t>(StepTerm::recompute)] = 1.0;
  double sum = 0;
  for (const PeakRow& row : peak_budget(p.report)) sum += row.seconds;
  EXPECT_NEAR(sum, 4, 1e-12);
  const std::string text = predict_text(p.report);
  const std::size_t account = text.find("Where 100 % of the peak goes:");
  ASSERT_NE(account, std::string::npos) << text;
  EXPECT_NE(text.find("30.0 %", account), std::string::npos) << text;
  EXPECT_NE(text.find("below the peak", account), std::string::npos) << text;
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

TEST(PredictText, SharesOfMemoryAreOfTheTotalAndOfTheDevice) {
  Predicted p;
  p.report.cost.memory.bytes[static_cast<std::size_t>(MemoryTerm::activations)] = 30e9;
  p.report.cost.memory.bytes[0] = 10e9;
  std::string text = predict_text(p.report);
  EXPECT_NE(text.find("most of it activations\nkept (75.0 %)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("of all  of 80.0 GB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("30.0 GB   75.0 %   37.5 %"), std::string::npos) << text;
  p.report.machine.memory.reset();
  text = predict_text(p.report);
  EXPECT_NE(text.find("of all\n"), std::string::npos) << text;
}

TEST(PredictText, SettingsSideBySideHaveColumnsOfTheirOwn) {
  Predicted p;
  p.report.axes = {"recompute", "zero"};
  for (const char* recompute : {"none", "selective"})
    for (const char* zero : {"0", "3"})
      p.report.comparison.push_back(
          {.label = std::string("recompute=") + recompute + " zero=" + zero,
           .values = {recompute, zero},
           .plan = p.report.plan,
           .cost = p.report.cost});
  const std::string text = predict_text(p.report);
  EXPECT_NE(text.find("  recompute  zero  dp "), std::string::npos) << text;
  EXPECT_NE(text.find("  selective  3      4 "), std::string::npos) << text;
  EXPECT_EQ(text.find("recompute=none"), std::string::npos);
}

TEST(PredictText, APipelineStandsBesideOneOfEqualStages) {
  Predicted p;
  p.report.plan.pp = 4;
  p.report.plan.batch.global = 64;
  p.report.equal_stages = EqualStages{.bubble = 3.0 / 19, .own = 0.129, .busiest = 3, .ratio = 1.3};
  p.report.equal_bubble = "(4 - 1) / (16 + (4 - 1))";
  const std::string text = predict_text(p.report);
  EXPECT_NE(text.find("would wait (4 - 1) / (16 + (4 - 1)) = 15.8 %"), std::string::npos) << text;
  EXPECT_NE(text.find("device 3, waits"), std::string::npos) << text;
  p.report.equal_stages->ratio = 1;
  EXPECT_EQ(predict_text(p.report).find("the mean of the devices"), std::string::npos);
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

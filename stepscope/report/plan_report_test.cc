// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/plan_report.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

FoundPlan found(std::int64_t tp, double matmul, double bubble) {
  FoundPlan p;
  p.plan.devices = 64;
  p.plan.tp = tp;
  p.plan.dp = 64 / tp;
  p.plan.global_batch = 64;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::matmul)] = matmul;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::bubble)] = bubble;
  p.cost.mfu[0] = 0.4;
  p.cost.memory.bytes[0] = 40e9;
  return p;
}

struct Searched {
  Transformer model;
  Machine machine;
  PlanReport report;
  Searched() {
    model.name = std::string("model");
    machine.name = std::string("machine");
    report.model = &model;
    report.machine = &machine;
    report.request.devices = {64};
    report.request.base.global_batch = 64;
    report.result.candidates = 1'234'567;
    report.result.feasible = 1'000'000;
    report.result.rejected[static_cast<std::size_t>(Rejected::memory)] = 234'567;
  }
  Searched(const Searched&) = delete;
  Searched& operator=(const Searched&) = delete;
};

TEST(PlanReport, SaysTheBestPlanAndWhyItWins) {
  Searched s;
  s.report.result.best = {found(8, 3, 0.5), found(4, 2.9, 1.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("The fastest plan takes 3.50 s a step, 40.0 % MFU"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Why it wins against TP 4"), std::string::npos) << text;
  // The larger difference first, and the one that speaks against it too.
  const std::size_t bubble = text.find("pipeline bubble");
  const std::size_t matmul = text.find("matrix products");
  ASSERT_NE(matmul, std::string::npos);
  EXPECT_LT(bubble, matmul);
  EXPECT_NE(text.find("-1.00 s", bubble), std::string::npos);
  EXPECT_NE(text.find("+100 ms", matmul), std::string::npos);
}

TEST(PlanReport, CountsWhatWasRejectedToTheLastOne) {
  Searched s;
  s.report.result.best = {found(8, 3, 0.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("1,234,567 plans"), std::string::npos) << text;
  EXPECT_NE(text.find("does not fit in memory"), std::string::npos) << text;
  const Json tree = plan_tree(s.report);
  std::int64_t sum = tree["feasible"].get<std::int64_t>();
  for (const auto& [reason, count] : tree["rejected"].items()) sum += count.get<std::int64_t>();
  EXPECT_EQ(sum, tree["candidates"].get<std::int64_t>());
}

TEST(PlanReport, MarksNearTies) {
  Searched s;
  s.report.result.best = {found(8, 3, 0.5), found(4, 3, 0.55)};
  for (FoundPlan& p : s.report.result.best) p.near_tie = true;
  EXPECT_NE(plan_text(s.report).find("≈: within the model's error (5.0 %)"), std::string::npos);
}

TEST(PlanReport, SuggestsTheSmallestCountWhereNothingFits) {
  Searched s;
  s.report.result.smallest_devices = 256;
  EXPECT_EQ(plan_sentence(s.report), "Nothing fits; 256 devices would be enough.");
  EXPECT_EQ(plan_tree(s.report)["smallest_devices"], 256);
  EXPECT_NE(plan_text(s.report).find("Nothing fits"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

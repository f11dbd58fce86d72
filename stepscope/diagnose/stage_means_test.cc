// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/stage_means.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

TEST(BusiestStage, IsTheOneThatWorksMost) {
  TestReport t({{}, {}});
  EXPECT_FALSE(busiest_stage(t.job));
  t.job.pipeline = two_stages();
  EXPECT_EQ(busiest_stage(t.job)->evidence.size(), 1U);
  t.job.explanation = explained();
  const auto busiest = busiest_stage(t.job);
  ASSERT_TRUE(busiest);
  EXPECT_EQ(busiest->stage, 1);
  EXPECT_DOUBLE_EQ(busiest->more, 1.0);
  EXPECT_EQ(say_all(busiest->evidence),
            (std::vector<std::string>{
                "it works 80.0 ms a step, the mean stage 60.0 ms",
                "stage 0 idles 60.0 ms a step, of it 40.0 ms for imbalance and 15.0 ms by the "
                "schedule (2 stages, 4 micro-batches, 1F1B)"}));
}

TEST(PipelineEfficiency, IsWorkOverWorkAndBubbleAsItIsAndOfEqualStages) {
  TestReport t({{}, {}});
  t.job.pipeline = two_stages();
  EXPECT_DOUBLE_EQ(*pipeline_efficiency(t.job), 0.6);  // 40 and 80 of 100 ms
  EXPECT_DOUBLE_EQ(*even_efficiency(*t.job.pipeline), 4.0 / 5);
  t.job.pipeline->passes = std::nullopt;
  EXPECT_FALSE(even_efficiency(*t.job.pipeline));
}

// Stage 1 works for 40 · `more` ms, the other for 40.
std::vector<Finding> findings_with(double more) {
  TestReport t({{{BudgetCategory::compute, 100}}, {{BudgetCategory::compute, 100}}});
  t.job.steps.summary = Summary{};
  t.job.steps.summary->mean = 100e6;
  t.job.pipeline = two_stages();
  t.job.pipeline->ranks[1].total.work = Ns{static_cast<std::int64_t>(40e6 * more)};
  t.job.explanation = explained();
  WhatIf balanced;
  balanced.scenario = {.change = Change::stages_balanced};
  balanced.saved = Ns{15'000'000};
  t.job.explanation->what_ifs = {balanced};
  return find_findings({.job = t.job});
}

TEST(StageImbalance, NamesTheStageThatHasMore) {
  const auto findings = findings_with(1.3);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "stage_imbalance");
  EXPECT_EQ(say(findings[0].what),
            "Pipeline stage 1 has 30.0 % more to do than the mean of the others");
  EXPECT_EQ(findings[0].gain, Ns{15'000'000});
  EXPECT_EQ(say(findings[0].evidence.at(0)), "it works 52.0 ms a step, the mean stage 46.0 ms");
}

TEST(StageImbalance, IsNoneWhereStagesDifferLittle) {
  for (const Finding& f : findings_with(1.04)) EXPECT_NE(f.id, "stage_imbalance");
}

}  // namespace
}  // namespace stepscope

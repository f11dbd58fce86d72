// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/pipeline_report.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings.h"
#include "stepscope/diagnose/stage_means.h"

namespace stepscope {
namespace {

constexpr Ns ms{1'000'000};

// Two stages; the second works longer, and the first waits for it.
PipelineBubble two_stages() {
  PipelineBubble p;
  p.stages = 2;
  p.passes = p.micro_batches = 4;
  p.chunks = 1;
  p.schedule = PipelineSchedule::one_f_one_b;
  for (int s = 0; s < 2; ++s) {
    StageBubble& stage = p.ranks.emplace_back();
    stage.view = static_cast<std::uint32_t>(s);
    stage.rank = stage.stage = s;
    StageStep step{.index = 5,
                   .begin = 10 * ms,
                   .end = 110 * ms,
                   .first_forward = {},
                   .last_backward = {},
                   .times = {}};
    step.times.wall = 100 * ms;
    step.times.work = step.times.passes = (s == 0 ? 40 : 80) * ms;
    if (s == 0) {
      step.times.between = {.idle = 15 * ms, .message = 45 * ms, .wait = {}};
    } else {
      step.times.fill.message = 12 * ms;
      step.times.drain.wait = 8 * ms;
    }
    stage.total = step.times;
    stage.steps.push_back(step);
  }
  return p;
}

Explanation explained() {
  Explanation e;
  e.bubble = {{.schedule = 15 * ms, .imbalance = 40 * ms, .links = 3 * ms, .rest = 2 * ms},
              {.schedule = 15 * ms, .imbalance = Ns{0} - 1 * ms, .links = 3 * ms, .rest = 3 * ms}};
  return e;
}

TEST(PipelineReport, IsEmptyWithoutAPipeline) {
  const TestReport t({{}, {}});
  EXPECT_TRUE(pipeline_json(t.job).is_null());
  EXPECT_EQ(pipeline_text(t.job, 120), "");
  EXPECT_FALSE(busiest_stage(t.job));
  EXPECT_TRUE(job_bubble_json({}).is_null());
  EXPECT_EQ(job_bubble_text({}, 120), "");
}

TEST(PipelineReport, SaysWhatEachStageIdlesAndWhy) {
  TestReport t({{}, {}});
  t.job.pipeline = two_stages();
  t.job.explanation = explained();
  EXPECT_EQ(pipeline_text(t.job, 200),
            "Pipeline bubble a step (2 stages, 4 micro-batches, 1F1B; stages all alike would idle "
            "25.0 % of their work)\n"
            "  stage  rank     work   bubble  of both     fill  between    drain     idle  "
            "in messages  waiting  schedule  imbalance    links     rest\n"
            "      0     0  40.0 ms  60.0 ms   60.0 %        -  60.0 ms        -  15.0 ms      "
            "45.0 ms        -   15.0 ms    40.0 ms  3.00 ms  2.00 ms\n"
            "      1     1  80.0 ms  20.0 ms   20.0 %  12.0 ms        -  8.00 ms        -      "
            "12.0 ms  8.00 ms   15.0 ms   -1.00 ms  3.00 ms  3.00 ms\n");
  const auto busiest = busiest_stage(t.job);
  ASSERT_TRUE(busiest);
  EXPECT_EQ(busiest->stage, 1);
  EXPECT_DOUBLE_EQ(busiest->more, 1.0);
  EXPECT_EQ(busiest->evidence,
            (std::vector<std::string>{
                "it works 80.0 ms a step, the mean stage 60.0 ms",
                "stage 0 idles 60.0 ms a step, of it 40.0 ms for imbalance and 15.0 ms by the "
                "schedule (2 stages, 4 micro-batches, 1F1B)"}));
}

TEST(PipelineReport, WithoutAReplayOnlyTheScheduleIsKnown) {
  TestReport t({{}, {}});
  t.job.pipeline = two_stages();
  const Json json = pipeline_json(t.job);
  EXPECT_EQ(json["schedule"], "1f1b");
  EXPECT_EQ(json["schedule_share"], 0.25);
  for (const Json& rank : json["ranks"]) {
    EXPECT_TRUE(rank["due_to_ns"]["imbalance"].is_null());
    EXPECT_TRUE(rank["due_to_ns"]["links"].is_null());
    EXPECT_EQ(rank["due_to_ns"]["schedule"].get<std::int64_t>() +
                  rank["due_to_ns"]["rest"].get<std::int64_t>(),
              rank["bubble_ns"].get<std::int64_t>());
    EXPECT_EQ(rank["work_ns"].get<std::int64_t>() + rank["bubble_ns"].get<std::int64_t>(),
              rank["wall_ns"].get<std::int64_t>());
  }
  EXPECT_EQ(json["ranks"][1]["fill_ns"]["message"], 12'000'000);
  EXPECT_EQ(json["ranks"][1]["steps"][0]["drain_ns"], 8'000'000);
  EXPECT_EQ(busiest_stage(t.job)->evidence.size(), 1U);
}

// Stage 1 works for 40 · `more` ms, the other for 40.
std::vector<Finding> findings_with(double more) {
  TestReport t({{{BudgetCategory::compute, 100}}, {{BudgetCategory::compute, 100}}});
  t.job.step_summary = Summary{};
  t.job.step_summary->mean = 100e6;
  t.job.pipeline = two_stages();
  t.job.pipeline->ranks[1].total.work = Ns{static_cast<std::int64_t>(40e6 * more)};
  t.job.explanation = explained();
  WhatIf balanced;
  balanced.scenario = {.change = Change::stages_balanced};
  balanced.saved = 15 * ms;
  t.job.explanation->what_ifs = {balanced};
  return find_findings({.job = t.job});
}

TEST(StageImbalance, NamesTheStageThatHasMore) {
  const auto findings = findings_with(1.3);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "stage_imbalance");
  EXPECT_EQ(findings[0].what, "Pipeline stage 1 has 30.0 % more to do than the mean of the others");
  EXPECT_EQ(findings[0].gain, 15 * ms);
  EXPECT_EQ(findings[0].evidence.at(0), "it works 52.0 ms a step, the mean stage 46.0 ms");
}

TEST(StageImbalance, IsNoneWhereStagesDifferLittle) {
  for (const Finding& f : findings_with(1.04)) EXPECT_NE(f.id, "stage_imbalance");
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/pipeline_views.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {

namespace {

using namespace test;

TEST(PipelineJson, IsNullWithoutAPipeline) {
  const TestReport t({{}, {}});
  EXPECT_TRUE(pipeline_json(t.job).is_null());
}

TEST(PipelineJson, WithoutAReplayOnlyTheScheduleIsKnown) {
  TestReport t({{}, {}});
  t.job.pipeline = two_stages();
  const Json json = pipeline_json(t.job);
  EXPECT_EQ(json["schedule"], "1f1b");
  EXPECT_EQ(json["schedule_share"], 0.25);
  EXPECT_EQ(json["efficiency"], 0.6);
  EXPECT_EQ(json["even_efficiency"], 0.8);
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
}

using namespace test;

TEST(PipelineText, IsEmptyWithoutAPipeline) {
  const TestReport t({{}, {}});
  EXPECT_EQ(pipeline_text(t.job, 120), "");
}

TEST(PipelineText, SaysWhatEachStageIdlesAndWhy) {
  TestReport t({{}, {}});
  t.job.pipeline = two_stages();
  t.job.explanation = explained();
  EXPECT_EQ(
      pipeline_text(t.job, 200),
      "Pipeline bubble a step (2 stages, 4 micro-batches, 1F1B): the efficiency is 60.0 %. Stages "
      "all alike would have 80.0 %, a bubble of 20.0 % of both.\n"
      "  stage  rank     work   bubble  of both     fill  between    drain     idle  "
      "in messages  waiting  schedule  imbalance    links     rest\n"
      "      0     0  40.0 ms  60.0 ms   60.0 %        -  60.0 ms        -  15.0 ms      "
      "45.0 ms        -   15.0 ms    40.0 ms  3.00 ms  2.00 ms\n"
      "      1     1  80.0 ms  20.0 ms   20.0 %  12.0 ms        -  8.00 ms        -      "
      "12.0 ms  8.00 ms   15.0 ms   -1.00 ms  3.00 ms  3.00 ms\n");
}

}  // namespace

}  // namespace stepscope

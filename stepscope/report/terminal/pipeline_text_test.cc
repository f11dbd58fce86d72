// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/pipeline_text.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PipelineText, IsEmptyWithoutAPipeline) {
  const TestReport t({{}, {}});
  EXPECT_EQ(pipeline_text(t.job, 120), "");
}

TEST(PipelineText, SaysWhatEachStageIdlesAndWhy) {
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
}

}  // namespace
}  // namespace stepscope

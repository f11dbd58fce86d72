// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/pipeline_json.h"

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

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/straggler_job_json.h"

#include <gtest/gtest.h>

#include <optional>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StragglerJobJson, HasNullWhereThereIsNothingToExplain) {
  StragglerJob job = slow_job();
  job.m_w.rem = std::nullopt;
  const Json json = straggler_job_json(job);
  EXPECT_TRUE(json["m_w"].is_null());
  EXPECT_TRUE(json["m_w_share"].is_null());
  EXPECT_EQ(json["m_s"], -0.05);
  EXPECT_EQ(json["m_s_share"], 0.0);
  EXPECT_EQ(json["replayed_step_ns"], 4e9);
  EXPECT_TRUE(json["sizes"]["vpp"].is_null());
}

}  // namespace
}  // namespace stepscope

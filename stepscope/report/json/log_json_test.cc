// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/log_json.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(LogJson, HasBothEndsOfADrift) {
  MadeLog made;
  made.account.changes.clear();
  made.account.drift = Drift{.first = 470e6, .last = 660e6, .p = 1e-9};
  EXPECT_DOUBLE_EQ(log_tree(made.report())["drift"]["last_ns"].get<double>(), 660e6);
}

TEST(LogJson, AbsentFiguresAreNull) {
  const MadeLog made;
  const Json tree = log_tree(made.report());
  EXPECT_EQ(tree["steps_from"], "megatron");
  EXPECT_TRUE(tree["model"].is_null());
  EXPECT_TRUE(tree["rates"][0]["value"].is_null());
  EXPECT_DOUBLE_EQ(tree["rates"][0]["printed"].get<double>(), 412);
  EXPECT_TRUE(tree["memory_share"].is_null());
  EXPECT_DOUBLE_EQ(tree["communication"][0]["algbw_gb_per_s"].get<double>(), 100);
  EXPECT_EQ(tree["changes"][0]["iteration"], 310);
  EXPECT_TRUE(tree["drift"].is_null());
}

}  // namespace
}  // namespace stepscope

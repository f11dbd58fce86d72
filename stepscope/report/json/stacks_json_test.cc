// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/stacks_json.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StacksJson, SaysWhyNothingIsJoined) {
  StacksBeside b(waiting_thread, 40, 88);
  b.report.trace->profiles[0].join.reset();
  b.report.trace->profiles[0].why_not = msg::plain("it has no instants");
  const Json profile = stacks_trace_json(b.report)["profiles"][0];
  EXPECT_EQ(profile["joined"], false);
  EXPECT_EQ(profile["not_joined"], "it has no instants");
}

}  // namespace
}  // namespace stepscope

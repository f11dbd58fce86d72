// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/verbs/stacks/stacks_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(StacksText, SaysWhyNothingIsJoined) {
  StacksBeside b(waiting_thread, 40, 88);
  b.report.trace->profiles[0].join.reset();
  b.report.trace->profiles[0].why_not = msg::plain("it has no instants");
  const std::string text = stacks_trace_text(b.report, 100);
  EXPECT_NE(text.find("not joined in time: it has no instants."), std::string::npos) << text;
  EXPECT_NE(text.find("computing 80.0 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope

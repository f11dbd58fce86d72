// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/findings/stacks_findings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

std::vector<Finding> findings_of(const StacksBesideRank& b) {
  return stack_findings(b.profile, b.rules, b.run.job.ranks, b.beside);
}

TEST(LockInStacks, GivesBackTheIdleTimeOfItsWaits) {
  const StacksBesideRank b(waiting_thread, 50, 70);
  const std::vector<Finding> found = findings_of(b);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gil_contention");
  EXPECT_EQ(found[0].gain, Ns{20'000'000});
  EXPECT_NE(say(found[0].evidence.at(0)).find("50.0 % of its time"), std::string::npos)
      << say(found[0].evidence[0]);
  EXPECT_NE(say(found[0].evidence.at(0)).find("40.0 % of that"), std::string::npos);
  EXPECT_NE(say(found[0].evidence.at(1)).find("loader"), std::string::npos);
}

TEST(LockInStacks, ABusyDeviceLosesNothing) {
  EXPECT_TRUE(findings_of(StacksBesideRank(waiting_thread, 10, 30)).empty());
}

TEST(LockInStacks, AThreadThatTrainsNothingHoldsNothingUp) {
  std::string text(waiting_thread);
  text.replace(text.find("forward"), 7, "tidy_up");
  EXPECT_TRUE(findings_of(StacksBesideRank(text, 50, 70)).empty());
}

TEST(LockInStacks, CountsOfSamplesTellNoTime) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "python 1/7 0.0";
    text += std::to_string(100 + i).substr(1) + "5: 1 cycles: \n";
    if (i >= 40 && i < 90) text += "\t 11 take_gil (/python)\n";
    text += "\t 12 py::forward:/m.py (/tmp/perf-1.map)\n\n";
  }
  const StacksBesideRank b(text, 50, 70);
  const std::vector<Finding> found = findings_of(b);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].gain);
  EXPECT_EQ(found[0].confidence, Confidence::low);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/unit_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(UnitText, ListsWhatCameLate) {
  const AnalyzedRank a(late_third_unit());
  const std::string text = unit_waits_text(a.job, 100);
  EXPECT_NE(text.find("2 of 3 fetches came after their unit was needed"), std::string::npos)
      << text;
  EXPECT_NE(text.find("19.0 µs"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  b "), std::string::npos) << text;  // a hit
}

TEST(UnitText, SaysThatNothingCameLate) {
  const AnalyzedRank a(two_hits());
  EXPECT_NE(unit_waits_text(a.job, 100).find("all 2 fetches had arrived"), std::string::npos);
}

TEST(UnitText, IsEmptyWhereUnitsAreUnknown) {
  EXPECT_TRUE(unit_waits_text(AnalyzedRank(unknown_units()).job, 100).empty());
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/unit_views.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/judged_test_results.h"

namespace stepscope {

namespace {

using namespace test;

TEST(UnitJson, HasTheInstantsOfEachFetch) {
  const AnalyzedRank a(late_third_unit());
  const Json json = unit_waits_json(a.job);
  EXPECT_EQ(json["source"], "stepscope");
  ASSERT_EQ(json["fetches"].size(), 3U);
  const Json& c = json["fetches"][2];
  EXPECT_EQ(c["unit"], "c");
  EXPECT_EQ(c["pass"], "forward");
  EXPECT_EQ(c["step"], 4);
  EXPECT_EQ(c["issued_ns"], 109'000);
  EXPECT_EQ(c["needed_ns"], 170'000);
  EXPECT_EQ(c["arrived_ns"], 189'000);
  EXPECT_EQ(c["late_ns"], 19'000);
  EXPECT_EQ(c["verdict"], "late");
  EXPECT_EQ(c["hidden_by"], 2);
  EXPECT_EQ(json["fetches"][0]["hidden_by"], nullptr);
  ASSERT_EQ(json["units"].size(), 3U);
  EXPECT_EQ(json["units"][0]["unit"], "c");  // the latest first
  EXPECT_EQ(json["units"][2]["hits"], 1);
}

TEST(UnitJson, UnknownUnitsAreNull) {
  const AnalyzedRank a(unknown_units());
  EXPECT_TRUE(unit_waits_json(a.job).is_null());
}

using namespace test;

TEST(UnitText, ListsWhatCameLate) {
  const AnalyzedRank a(late_third_unit());
  const std::string text = unit_waits_text(a.job.units, 100);
  EXPECT_NE(text.find("2 of 3 fetches came after their unit was needed"), std::string::npos)
      << text;
  EXPECT_NE(text.find("19.0 µs"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  b "), std::string::npos) << text;  // a hit
}

TEST(UnitText, SaysThatNothingCameLate) {
  const AnalyzedRank a(two_hits());
  EXPECT_NE(unit_waits_text(a.job.units, 100).find("all 2 fetches had arrived"), std::string::npos);
}

TEST(UnitText, IsEmptyWhereUnitsAreUnknown) {
  EXPECT_TRUE(unit_waits_text(AnalyzedRank(unknown_units()).job.units, 100).empty());
}

}  // namespace

}  // namespace stepscope

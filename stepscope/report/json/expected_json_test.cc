// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/expected_json.h"

#include <gtest/gtest.h>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

struct ExpectedJson : testing::Test, ExpectedRun {};

TEST_F(ExpectedJson, TheJsonsClassesSumToTheSteps) {
  const Json json = expected_json(made.report);
  double expected = 0;
  double measured = 0;
  for (const Json& c : json["step"]["classes"]) {
    expected += c["expected_ns"].get<double>();
    measured += c["measured_ns"].get<double>();
  }
  EXPECT_NEAR(expected, json["step"]["expected_ns"].get<double>(), 2);
  EXPECT_NEAR(measured, json["step"]["measured_ns"].get<double>(), 1e-3);
  EXPECT_NEAR(json["step"]["pointwise"]["ratio"].get<double>(), 1.4, 1e-12);
  EXPECT_TRUE(json["step"]["classes"][3]["ratio"].is_null()) << "nothing is expected";
  EXPECT_TRUE(json["ranks"][0]["classes"][1]["ratio"].is_null());
  EXPECT_EQ(json["ranks"][0]["operators"][0]["calls"], 3);
  made.report.expected.reset();
  EXPECT_TRUE(expected_json(made.report).is_null());
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/expected_views.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/expected_test_results.h"

namespace stepscope {

namespace {

using namespace test;

struct ExpectedSentences : testing::Test, ExpectedRun {};

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ExpectedSentences, OneSentenceNamesTheLargestExcesses) {
  const auto sentences = say_all(expected_sentences(made.report));
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_TRUE(holds(sentences[0],
                    "takes 1.67 × what the model expects on H100-80GB SXM (100 ms "
                    "for 60.0 ms)"))
      << sentences[0];
  EXPECT_TRUE(holds(sentences[0],
                    "idle device 20.0 ms for 1 ns; matmul 1.38 × (55.0 ms for 40.0 "
                    "ms); pointwise 1.40 × (14.0 ms for 10.0 ms)"))
      << sentences[0];
  EXPECT_TRUE(holds(sentences[1], "matmul takes 1.50 × what is expected")) << sentences[1];
  EXPECT_TRUE(holds(sentences[1], "aten::mm [[32,64],[64,128]] (30.0 ms for 20.0 ms)"))
      << sentences[1];
  EXPECT_TRUE(holds(sentences[2], "2.50 ×")) << sentences[2];
  EXPECT_TRUE(holds(sentences[2], "waiting included")) << sentences[2];
}

TEST_F(ExpectedSentences, TheClassesOfLargestExcessAreNamedWhateverTheyAre) {
  ExpectedOperators& operators = made.report.expected->ranks[0];
  operators.classes.insert(
      operators.classes.begin(),
      {{.kind = NameClass::copy, .expected = 0.001, .measured = 0.03, .unknown = 0},
       {.kind = NameClass::norm, .expected = 0.01, .measured = 0.022, .unknown = 0}});
  operators.classes.push_back(
      {.kind = NameClass::loss, .expected = 0.01, .measured = 0.0101, .unknown = 0});
  EXPECT_TRUE(holds(say_all(expected_sentences(made.report))[1],
                    "copy takes 30.0 × and norm takes 2.20 × and matmul takes 1.50 × what is "
                    "expected"))
      << say_all(expected_sentences(made.report))[1];
}

// Nothing runs faster than its machine: the expectation is wrong then, and that is said instead.
TEST_F(ExpectedSentences, ARunThatBeatsTheMachineIsNotComparedWithIt) {
  made.report.expected->collectives[0].measured = 0.00015;
  made.report.expected->ranks[0].classes[0].measured = 0.0134;
  const auto sentences = say_all(expected_sentences(made.report));
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_FALSE(holds(sentences[1], "matmul takes")) << sentences[1];
  EXPECT_TRUE(holds(sentences[1], "the machine's curves are too slow for the shapes of matmul"))
      << sentences[1];
  EXPECT_TRUE(holds(sentences[2], "which is impossible")) << sentences[2];
  EXPECT_TRUE(holds(sentences[2], "--machine FILE")) << sentences[2];
}

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

using namespace test;

struct ExpectedText : testing::Test, ExpectedRun {};

TEST_F(ExpectedText, TheTextHasEveryTableAndTheStepsSums) {
  const std::string text =
      expected_step_text(made.report, 100) + expected_shapes_text(made.report, 100);
  for (const std::string_view part :
       {"pointwise", "· norm", "· elementwise", "the step", "all attention", "with waiting",
        "> 1000 ×", "+20.0 ms", "recomputed", "10.0 ms", "compute.units = 132"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  made.report.expected.reset();
  EXPECT_EQ(expected_step_text(made.report, 100), "");
  EXPECT_EQ(expected_shapes_text(made.report, 100), "");
}

}  // namespace

}  // namespace stepscope

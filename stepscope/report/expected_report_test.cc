// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/expected_report.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/json_report.h"

namespace stepscope {
namespace {

class ExpectedReport : public testing::Test {
 protected:
  ExpectedReport() : made({{{BudgetCategory::compute, 80}, {BudgetCategory::idle_host, 20}}}) {
    made.rank(0).phases.steps.resize(1);
    Expectation& e = made.report.expected.emplace();
    e.machine = "H100-80GB SXM";
    StepComparison& step = e.step.emplace();
    step.model = "gpt";
    step.machine = e.machine;
    step.expected = 0.06;
    step.measured = 0.1;
    step.classes = {
        {.kind = StepClass::host, .expected = 1e-9, .recompute = 0, .measured = 0.02},
        {.kind = StepClass::matmul, .expected = 0.04, .recompute = 0.01, .measured = 0.055},
        {.kind = StepClass::norm, .expected = 0.001, .recompute = 0, .measured = 0.008},
        {.kind = StepClass::wait, .expected = 0, .recompute = 0, .measured = 0.002},
        {.kind = StepClass::elementwise, .expected = 0.009, .recompute = 0, .measured = 0.006},
        {.kind = StepClass::attention, .expected = 0.01, .recompute = 0, .measured = 0.009}};
    step.ranks = {{.rank = 0, .measured = {}}};
    OperatorRow row;
    row.name = made.name("aten::mm");
    row.dims = made.name("[[32, 64], [64, 128], []]");
    row.kind = NameClass::matmul;
    row.device_calls = 3;
    made.rank(0).operators.push_back(row);
    ExpectedOperators& operators = e.ranks.emplace_back();
    operators.classes = {
        {.kind = NameClass::matmul, .expected = 0.02, .measured = 0.03, .unknown = 0.001},
        {.kind = NameClass::attention, .expected = 0, .measured = 0, .unknown = 0.004}};
    operators.operators = {{made.rank(0).operators.data(), 0.02, 0.03}};
    collective.kind = CollectiveKind::all_reduce;
    collective.dimension = Dimension::dp;
    collective.group_size = 8;
    collective.bytes = Bytes{1'000'000};
    e.collectives = {
        {.row = &collective, .expected = 0.001, .measured = 0.0025, .calls = 7, .with_wait = true}};
    e.assumptions = {"compute.units = 132, as its peak"};
  }

  TestReport made;
  CollectiveRow collective;
};

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ExpectedReport, OneSentenceNamesTheLargestExcesses) {
  const auto sentences = expected_sentences(made.report);
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

TEST_F(ExpectedReport, TheTextHasEveryTableAndTheStepsSums) {
  const std::string text =
      expected_step_text(made.report, 100) + expected_shapes_text(made.report, 100);
  for (const std::string_view part :
       {"pointwise", "· norm", "· elementwise", "the step", "all attention", "with waiting",
        "> 1000 ×", "+20.0 ms", "recomputed", "10.0 ms", "compute.units = 132"})
    EXPECT_TRUE(holds(text, part)) << part << '\n' << text;
  made.report.expected.reset();
  EXPECT_EQ(expected_step_text(made.report, 100), "");
  EXPECT_EQ(expected_shapes_text(made.report, 100), "");
}

TEST_F(ExpectedReport, TheJsonsClassesSumToTheSteps) {
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

TEST_F(ExpectedReport, TheCsvHasATableOfEach) {
  std::vector<std::string> names;
  for (const CsvFile& file : analyze_csv(analyze_tree(made.report)))
    if (file.name.starts_with("expected")) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"expected_step.csv", "expected_operators.csv",
                                             "expected_collectives.csv"}));
}

}  // namespace
}  // namespace stepscope

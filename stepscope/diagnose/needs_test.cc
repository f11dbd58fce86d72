// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/needs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/say/say.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {
namespace {

TEST(Needs, AreKnownOfEachFindingVerdictAndChange) {
  for (const Term& term : terms_of("finding")) EXPECT_FALSE(needs_of(term.key).empty()) << term.key;
  for (const std::string_view kind : culprit_kind_names)
    EXPECT_FALSE(needs_of(kind).empty()) << kind;
  for (const ScenarioHelp& change : scenario_help()) {
    const auto scenario = parse_scenario(change.example);
    ASSERT_TRUE(scenario) << change.example;
    EXPECT_FALSE(needs_of(scenario->change).empty()) << change.syntax;
  }
}

// The needs of a verdict's change lie among those of the verdict, so that no change is named whose
// gain is unknown.
TEST(Needs, OfAFaultAreThoseOfItsChange) {
  const Facts all = [] {
    Facts facts;
    facts.fill(true);
    return facts;
  }();
  for (std::size_t f = 1; f < fact_count; ++f) {
    Facts facts = all;
    facts[f] = false;
    EXPECT_EQ(lacks(facts, needs_of("pauses")).has_value(),
              lacks(facts, needs_of(Change::pauses_free)).has_value())
        << fact_names[f];
    EXPECT_EQ(lacks(facts, needs_of("device_shared")).has_value(),
              lacks(facts, needs_of(Change::device_alone)).has_value())
        << fact_names[f];
  }
}

// A fault of the host, a fault among ranks, and a change of each.
void find_everything(TestReport& t) {
  Explanation& e = t.job.explanation.emplace();
  e.faults.resize(2);
  e.faults[0].kind = StepFaultKind::pauses;
  e.faults[1].kind = StepFaultKind::slow_rank;
  e.what_ifs.resize(1);
  e.what_ifs[0].scenario.change = Change::pauses_free;
  e.asked.resize(2);
  e.asked[0].scenario.change = Change::host_free;
  e.asked[1].scenario.change = Change::bandwidth;
}

TEST(Needs, NothingIsConcludedFromAHoleInTheRecording) {
  TestReport t({{{BudgetCategory::compute, 100}}, {{BudgetCategory::compute, 100}}});
  find_everything(t);
  withhold_unfounded(t.job);
  EXPECT_EQ(t.job.explanation->faults.size(), 2u);
  EXPECT_EQ(t.job.explanation->what_ifs.size(), 1u);
  EXPECT_TRUE(t.job.explanation->asked[0].refused.empty());

  t.rank(1).recording.steps = {{.index = 5, .launches = 10, .lost_launches = 4, .device_rows = 6}};
  withhold_unfounded(t.job);
  EXPECT_TRUE(t.job.explanation->faults.empty());
  EXPECT_TRUE(t.job.explanation->what_ifs.empty());
  EXPECT_EQ(say(t.job.explanation->asked[0].refused),
            "the recording lacks the device's rows of launched kernels: record "
            "ProfilerActivity.CUDA");
  EXPECT_TRUE(t.job.explanation->asked[1].refused.empty());
}

TEST(Needs, OneRankHasNoPeersToDifferFrom) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  find_everything(t);
  withhold_unfounded(t.job);
  ASSERT_EQ(t.job.explanation->faults.size(), 1u);
  EXPECT_EQ(t.job.explanation->faults[0].kind, StepFaultKind::pauses);
}

const MissingFact* missing(const std::vector<MissingFact>& all, Fact fact) {
  const auto at = std::ranges::find(all, fact, &MissingFact::fact);
  return at == all.end() ? nullptr : &*at;
}

TEST(Needs, WhatIsMissingNamesTheSwitchOfTheProfilerThatRecorded) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  t.rank(0).steps.front().name = "window";
  for (const auto& [format, steps] :
       {std::pair("kineto", "profiler.step()"), std::pair("nsys", "NVTX"),
        std::pair("rocprof", "ROCTX"), std::pair("xplane", "jax.profiler")}) {
    t.rank(0).recording.format = format;
    const auto all = missing_facts(t.job);
    const MissingFact* marks = missing(all, Fact::steps);
    ASSERT_NE(marks, nullptr);
    EXPECT_NE(say(marks->record).find(steps), std::string::npos) << format;
    const MissingFact* shapes = missing(all, Fact::shapes);
    ASSERT_NE(shapes, nullptr);
    EXPECT_NE(std::ranges::find(shapes->findings, "padding"), shapes->findings.end());
    EXPECT_EQ(missing(all, Fact::launches), nullptr);
  }
  t.rank(0).recording.tensorflow = true;
  const auto all = missing_facts(t.job);
  EXPECT_EQ(say(missing(all, Fact::steps)->record),
            "tf.profiler.experimental.Trace(\"train\", step_num=N) around each step");
}

}  // namespace
}  // namespace stepscope

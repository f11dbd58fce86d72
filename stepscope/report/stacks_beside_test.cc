// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/stacks_beside.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/pipeline/stacks.h"
#include "stepscope/report/stacks_report.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// One rank, one step of 100 ms.
struct OneRank : TestReport {
  OneRank() : TestReport({{{compute, 80}, {idle_host, 20}}}) {
    const std::vector<std::int64_t> walls = {100'000'000};
    job.step_summary = summarize(walls);
  }
};

template <class T>
T got(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

// A training thread that waits for the GIL in [40, 90) ms, and one that computes all the time.
constexpr std::string_view waiting =
    R"({"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[)"
    R"({"name":"forward","file":"m.py"},{"name":"take_gil"},{"name":"tokenize"}]},"profiles":[)"
    R"({"type":"evented","name":"main","unit":"milliseconds","startValue":0,"endValue":100,)"
    R"("events":[{"type":"O","at":0,"frame":0},{"type":"O","at":40,"frame":1},)"
    R"({"type":"C","at":90,"frame":1},{"type":"C","at":100,"frame":0}]},)"
    R"({"type":"sampled","name":"loader","unit":"milliseconds","startValue":0,"endValue":100,)"
    R"("samples":[[2]],"weights":[100]}]})";

// The stacks of a text beside OneRank, whose device is idle from `idle` to `idle_end` ms.
struct Beside {
  OneRank run;
  StacksResult report;

  Beside(std::string_view text, std::int64_t idle, std::int64_t idle_end) {
    const auto ms = [](std::int64_t t) { return Ns{t * 1'000'000}; };
    const std::vector<BudgetPiece> pieces = {{ms(0), ms(idle), compute, 0},
                                             {ms(idle), ms(idle_end), idle_host, 0},
                                             {ms(idle_end), ms(100), compute, 0}};
    report.profile = got(test::profile_of(text, {.keep_samples = true}));
    report.rules = got(make_phase_rules());
    report.phases = phases_of(report.profile, report.rules);
    report.summary = summarize(report.profile, report.rules, report.phases);
    report.trace = StacksTrace{.job = run.job};
    ProfileBesideTrace beside;
    beside.join = join_stacks(report.profile, report.phases, 0, Ns{0}, pieces);
    report.trace->profiles.push_back(std::move(beside));
  }
};

std::vector<Finding> findings_of(const StacksResult& r) {
  return stack_findings(r.profile, r.rules, r.trace->job, r.trace->profiles);
}

TEST(LockInStacks, GivesBackTheIdleTimeOfItsWaits) {
  const Beside b(waiting, 50, 70);
  const std::vector<Finding> found = findings_of(b.report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gil_contention");
  EXPECT_EQ(found[0].gain, Ns{20'000'000});
  EXPECT_NE(found[0].evidence.at(0).find("50.0 % of its time"), std::string::npos)
      << found[0].evidence[0];
  EXPECT_NE(found[0].evidence.at(0).find("40.0 % of that"), std::string::npos);
  EXPECT_NE(found[0].evidence.at(1).find("loader"), std::string::npos);
}

TEST(LockInStacks, ABusyDeviceLosesNothing) {
  EXPECT_TRUE(findings_of(Beside(waiting, 10, 30).report).empty());
}

TEST(LockInStacks, AThreadThatTrainsNothingHoldsNothingUp) {
  std::string text(waiting);
  text.replace(text.find("forward"), 7, "tidy_up");
  EXPECT_TRUE(findings_of(Beside(text, 50, 70).report).empty());
}

TEST(LockInStacks, CountsOfSamplesTellNoTime) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "python 1/7 0.0";
    text += std::to_string(100 + i).substr(1) + "5: 1 cycles: \n";
    if (i >= 40 && i < 90) text += "\t 11 take_gil (/python)\n";
    text += "\t 12 py::forward:/m.py (/tmp/perf-1.map)\n\n";
  }
  const Beside b(text, 50, 70);
  const std::vector<Finding> found = findings_of(b.report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].gain);
  EXPECT_EQ(found[0].confidence, Confidence::low);
}

TEST(StacksBesideATrace, SaysWhetherTheDeviceIdlesMeanwhile) {
  const Beside lost(waiting, 40, 88);
  EXPECT_NE(stacks_sentence(lost.report)
                .find("While main is in wait for the GIL the device is idle for 96.0 % of it, so "
                      "that time is lost to it as well."),
            std::string::npos)
      << stacks_sentence(lost.report);
  const Beside kept(waiting, 0, 10);
  EXPECT_NE(stacks_sentence(kept.report).find("so standing there costs little"), std::string::npos);
}

TEST(StacksBesideATrace, SaysWhyNothingIsJoined) {
  Beside b(waiting, 40, 88);
  b.report.trace->profiles[0].join.reset();
  b.report.trace->profiles[0].why_not = "it has no instants";
  const std::string text = stacks_trace_text(b.report, 100);
  EXPECT_NE(text.find("not joined in time: it has no instants."), std::string::npos) << text;
  EXPECT_NE(text.find("computing 80.0 %"), std::string::npos) << text;
  EXPECT_EQ(stacks_trace_json(b.report)["profiles"][0]["joined"], false);
}

}  // namespace
}  // namespace stepscope

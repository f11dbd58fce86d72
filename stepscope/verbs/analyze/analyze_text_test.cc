// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/face/text/text_table.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

std::string all_text(const Analysis& report) {
  return analyze_text(report, {.detail = TextDetail::all});
}

TEST(AnalyzeText, TheAnswerComesFirstThenTheAccountThenTablesThenNotes) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  t.gap(idle_host, 5'000'000, "aten::item");
  t.report.answer.culprit = msg::plain("the host is slow");
  t.report.warnings = {msg::plain("to see more, record with record_shapes=True")};
  const std::string text = all_text(t.report);
  const std::vector<std::string> parts = {"rank 0 · NVIDIA H100", "A step takes 1.00 s",
                                          "The host is slow.",    "Where it goes",
                                          "Longest gaps",         "note: to see more"};
  std::size_t last = 0;
  for (const std::string& part : parts) {
    const std::size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << part << "\n" << text;
    EXPECT_GE(at, last) << part;
    last = at;
  }
}

TEST(AnalyzeText, AStepOfAnotherLengthThanAnnotatedSaysWhereItBegins) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  t.job.explanation.emplace().step = Ns{150'000'000};
  const auto note = [&] {
    std::string text = all_text(t.report);
    std::ranges::replace(text, '\n', ' ');
    const std::size_t at = std::min(text.find("Step time: "), text.size());
    return text.substr(at, text.find('.', at) + 1 - at);
  };
  EXPECT_EQ(note(), "Step time: first rank's start to last rank's end.");
  t.job.steps.common.push_back({6, Ns{}, Ns{}, {0}});
  EXPECT_EQ(note(),
            "Step time: end of a step to the end of the next; step 5, the first, does not count.");
  t.job.ranks.front().device.kind = "cpu";  // all of its steps count
  EXPECT_EQ(note(), "Step time: begin of a step to the begin of the next.");
}

TEST(AnalyzeText, ColourOnlyWhereItIsWanted) {
  TestReport t({{{compute, 60}}});
  EXPECT_FALSE(says(all_text(t.report), "\033"));
  EXPECT_TRUE(
      says(analyze_text(t.report, {.width = 100, .colour = true, .details = {}}), "\033[1m"));
}

TEST(AnalyzeText, NamesInTheAnswerDoNotSteerTheTerminal) {
  TestReport t({{{compute, 60}}});
  t.report.answer.culprit = msg::plain("most of it gemm\033]0;title\007");
  EXPECT_FALSE(says(all_text(t.report), "\033"));
}

TEST(AnalyzeText, LinesKeepToTheWidthEvenWithLongNames) {
  TestReport t({{{compute, 60}, {idle_host, 40}}, {{compute, 100}}});
  t.gap(idle_host, 5'000'000, std::string(300, 'x'), std::string(300, 'y'));
  t.kernel(std::string(400, 'k'), NameClass::matmul, 0.5);
  t.report.warnings = {
      msg::plain("a warning of many words that is far longer than a line of the terminal may "
                 "ever be, and so is broken")};
  std::istringstream lines(all_text(t.report));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 100U) << line;
}

TEST(AnalyzeText, LateRanksThatAreNotSignificantAreNotListed) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  Straggler& s = t.job.stragglers.emplace_back();
  s.rank = 1;
  s.upper_bound = Ns{27'000};
  EXPECT_FALSE(says(all_text(t.report), "Late ranks"));
  s.significant = true;
  EXPECT_TRUE(says(all_text(t.report), "Late ranks"));
}

TEST(AnalyzeText, CausesThatNoRankHasAreNoColumn) {
  TestReport t({{{compute, 60}, {idle_data, 40}}, {{compute, 100}}});
  const std::string text = all_text(t.report);
  const std::size_t at = text.find("Ranks (% of the step)");
  ASSERT_NE(at, std::string::npos);
  const std::string header = text.substr(text.find('\n', at), 100);
  EXPECT_TRUE(says(header, "data"));
  EXPECT_FALSE(says(header, "sync"));
  EXPECT_FALSE(says(header, "copy"));
}

TEST(AnalyzeText, OfManyRanksThoseThatOthersWaitForAreListed) {
  std::vector<TestBudget> ranks(40, TestBudget{{compute, 50}, {comm_exposed_wait, 50}});
  ranks[33] = {{compute, 99}, {comm_exposed_wait, 1}};
  TestReport t(ranks);
  const std::string text = all_text(t.report);
  EXPECT_TRUE(says(text, "the 16 of 40 that wait least"));
  EXPECT_TRUE(says(text, "\n    33"));
}

TEST(AnalyzeText, ACpuRunSpeaksOfNoDevice) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  t.rank(0).device.kind = "cpu";
  t.rank(0).device.name.clear();
  t.rank(0).recording.device_rows = 0;
  t.gap(idle_host, 5'000'000, "aten::item");
  OperatorRow& row = t.rank(0).work.operators.emplace_back();
  row.name = t.name("aten::mm");
  row.calls = 3;
  row.device = Ns{1'000'000};
  const std::string text = all_text(t.report);
  EXPECT_FALSE(says(text, "device")) << text;
  EXPECT_TRUE(says(text, "Longest gaps between operators"));
}

TEST(AnalyzeText, MemoryByPhaseHasItsPeakAndWhatTheAllocatorKeepsFree) {
  TestReport t({{{compute, 60}}});
  RankResult& r = t.job.ranks.front();
  r.steps.front().host_end = Ns{1000};
  DeviceMemory& gpu = r.memory.devices.emplace_back();
  gpu.device = 0;
  gpu.peak_allocated = Bytes{4'000'000};
  gpu.composition.emplace().front() = gpu.peak_allocated;
  const auto stretch = [&](Phase phase, std::int64_t start, std::int64_t peak) {
    gpu.phases.push_back({.phase = phase,
                          .start = Ns{start},
                          .end = Ns{start + 1},
                          .at_start = Bytes{1'000'000},
                          .at_end = Bytes{2'000'000},
                          .peak = Bytes{peak}});
  };
  stretch(Phase::forward, 10, 4'000'000);
  gpu.phases.back().reserved = Bytes{5'000'000};
  stretch(Phase::backward, 20, 3'000'000);
  stretch(Phase::optimizer, 2000, 1'000'000);  // of the next step
  const auto said = [&] {
    const std::string text = all_text(t.report);
    std::string single;  // spaces
    for (const char c : text)
      if (c != ' ' || !single.ends_with(' ')) single += c;
    return single;
  };
  const std::string few = said();
  EXPECT_TRUE(says(few, "Memory by phase of step 5:")) << few;
  EXPECT_TRUE(says(few, "forward 1.00 MB 4.00 MB 2.00 MB 5.00 MB 1.00 MB, 20.0 %")) << few;
  EXPECT_TRUE(says(few, "backward 1.00 MB 3.00 MB 2.00 MB not recorded not recorded")) << few;
  EXPECT_FALSE(says(few, "optimizer 1.00 MB")) << few;
  EXPECT_FALSE(says(few, "before the recording")) << few;
  for (int i = 0; i < 20; ++i) stretch(Phase::forward, 30 + i, 1'000'000 + 10'000 * i);
  const std::string many = said();
  EXPECT_TRUE(says(many, "Memory by phase of step 5, of 22 stretches the highest of each phase:"))
      << many;
  EXPECT_TRUE(says(many, "1.00 MB, 20.0 %")) << many;
  EXPECT_FALSE(says(many, "1.19 MB")) << many;
}

TEST(AnalyzeText, MemoryBeforeTheRecordingIsNotCountedByTheHost) {
  TestReport t({{{compute, 60}}});
  DeviceMemory& host = t.job.ranks.front().memory.devices.emplace_back();
  host.peak_allocated = Bytes{4'000'000};
  host.composition.emplace().front() = host.peak_allocated;
  host.older_counts = false;
  const TextOptions wide{.width = 400, .detail = TextDetail::all};
  EXPECT_TRUE(says(analyze_text(t.report, wide), "in none of these figures\n"));
  host.uncounted = Bytes{7'000'000};
  EXPECT_TRUE(says(analyze_text(t.report, wide), "in none of these figures: at least 7.00 MB"));
}

TEST(AnalyzeText, TheHostIsMentionedOnlyWhereItMatters) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  t.rank(0).host.launches = 100;
  t.rank(0).host.empty_queue_launches = 3;
  EXPECT_FALSE(says(all_text(t.report), "Host of rank 0"));
  t.rank(0).host.starved = Ns{30'000'000};
  EXPECT_TRUE(says(all_text(t.report), "3 of 100 launches find the device idle for 30.0 ms"));
}

std::vector<TestBudget> budgets_of_many_ranks() {
  return std::vector(500, TestBudget{{compute, 40},
                                     {comm_exposed_wait, 30},
                                     {idle_host, 12},
                                     {idle_launch, 8},
                                     {idle_sync, 6},
                                     {copy_exposed, 4}});
}

// 500 ranks, the cause named, 30 other findings and 30 notes.
struct LargeReport : TestReport {
  LargeReport() : TestReport(budgets_of_many_ranks()) {
    for (int i = 0; i < 30; ++i) {
      KernelRow& row = kernel("gemm" + std::to_string(i), NameClass::matmul, 0.5);
      row.count = 2;
      row.total = Ns{1'000'000 - i};
    }
    report.answer.culprit = msg::replay_without("x", "TRACES", false);
    report.answer.culprits = {{.kind = CulpritKind::slow_rank, .change = "x"}};
    report.traces = "runs/today";
    job.explanation.emplace().step = Ns{10'000'000'000};
    find("slow_rank", "said", FindingSort::fault, Ns{2'000'000'000});
    for (int i = 0; i < 30; ++i) {
      report.warnings.push_back(msg::no_mfu(std::string(300, 'w') + " and more"));
      find(i % 2 == 0 ? "congestion" : "recompute", std::to_string(i), FindingSort::opportunity,
           Ns{1'000'000'000 - i});
    }
  }

 private:
  void find(std::string_view id, const std::string& key, FindingSort sort, Ns gain) {
    Finding& f = report.findings.emplace_back();
    f.id = id;
    f.key = key;
    f.sort = sort;
    f.what = msg::plain("finding " + key);
    f.evidence = {msg::plain("evidence")};
    f.advice = msg::plain("do this about " + key);
    f.gain = gain;
    f.change = sort == FindingSort::fault ? "x" : "";
  }
};

TEST(AnalyzeText, TwentyLinesHoldTheAnswerFiveRowsOfTheBudgetAndFiveKernels) {
  const LargeReport t;
  const std::string text = analyze_text(t.report);
  EXPECT_LE(std::ranges::count(text, '\n'), 20) << text;
  EXPECT_TRUE(says(text,
                   "\n→ do this about said. The step without it:\n"
                   "  stepscope whatif runs/today --change x\n"))
      << "to be pasted: " << text;
  EXPECT_TRUE(says(text, "2 smaller causes")) << text;
  EXPECT_TRUE(says(text, "kernels of rank 0"));
  EXPECT_TRUE(says(text, "gemm4 "));
  EXPECT_FALSE(says(text, "gemm5 ")) << "the sixth";
  std::string line = text.substr(text.find("What else to try: "));
  std::ranges::replace(line, '\n', ' ');
  EXPECT_TRUE(
      line.starts_with("What else to try: congestion (at most 1.00 s), recomputation (at "
                       "most 1.00 s), 28 more. -v prints"))
      << line;
  EXPECT_TRUE(says(line, "-v prints what to do, 30 notes and every table;")) << line;
}

TEST(AnalyzeText, KernelsThatOnlyWaitAreNotAmongTheCostliest) {
  TestReport t({{{compute, 100}}});
  t.kernel("event_wait", NameClass::wait, 0.9);
  t.kernel("gemm", NameClass::matmul, 0.5);
  const std::string text = analyze_text(t.report);
  EXPECT_TRUE(says(text, "gemm "));
  EXPECT_FALSE(says(text, "event_wait"));
}

TEST(AnalyzeText, ANoteThatTheAnswerRestsOnIsPrintedWhole) {
  LargeReport t;
  t.report.warnings.push_back(msg::ranks_by_order());
  std::string text = analyze_text(t.report);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_TRUE(says(text, "note: ranks are numbered in the order of the files"));
  EXPECT_TRUE(says(text, "rank into the file name")) << text;
}

TEST(AnalyzeText, WithoutACauseTheLargestFindingHasItsAdviceAndTheOthersTheirNames) {
  LargeReport t;
  t.report.answer.culprits.clear();
  t.report.answer.culprit = {};
  const std::string text = analyze_text(t.report);
  EXPECT_LE(std::ranges::count(text, '\n'), 21) << text;
  EXPECT_TRUE(says(text, "What to try:\n  1. finding said")) << text;
  EXPECT_TRUE(says(text, "→ do this about said.")) << text;
  EXPECT_FALSE(says(text, "do this about 0")) << text;
  EXPECT_TRUE(says(text, "What else to try: congestion (at most 1.00 s)")) << text;
}

TEST(AnalyzeText, BriefIsTheAnswerAndTheFirstFindingsWithTheirAdvice) {
  const std::string brief = analyze_text(LargeReport().report, {.detail = TextDetail::brief});
  EXPECT_FALSE(says(brief, "Where it goes"));
  EXPECT_TRUE(says(brief, "1. finding 0"));
  EXPECT_TRUE(says(brief, "→ do this about 2."));
  EXPECT_FALSE(says(brief, "4. finding"));
}

TEST(AnalyzeText, TheAdviceBelowTheAnswerIsThatOfItsFaultAndNotOfTheLargestFinding) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  t.job.explanation.emplace().step = Ns{1'000'000'000};
  const auto fault = [](std::string_view id, std::string change, std::string advice) {
    Finding f;
    f.id = id;
    f.sort = FindingSort::fault;
    f.key = id;
    f.what = msg::plain("what");
    f.advice = msg::plain(std::move(advice));
    f.change = std::move(change);
    return f;
  };
  t.report.answer.culprits = {
      {.kind = CulpritKind::slow_rank, .change = "rank_as_peers:compute@1"}};
  t.report.findings = {fault("sync_calls", "syncs_once", "remove item()"),
                       fault("slow_rank", "rank_as_peers:compute@1", "compare the clocks")};
  const std::string text = analyze_text(t.report, {.detail = TextDetail::brief});
  EXPECT_TRUE(says(text, "\n→ compare the clocks.")) << text;
  EXPECT_TRUE(says(text, "     → remove item().")) << text;
}

// A slow link explains part of the exposed time: the rest can still be hidden.
TEST(AnalyzeText, AFindingThatIsLargerThanItsReasonKeepsItsAdvice) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  t.job.explanation.emplace();
  const auto finding = [](std::string_view id, std::string under, std::int64_t gain,
                          std::string advice) {
    Finding f;
    f.id = id;
    f.key = id;
    f.under = std::move(under);
    f.what = msg::plain("what");
    f.advice = msg::plain(std::move(advice));
    f.gain = Ns{gain};
    return f;
  };
  t.report.findings = {finding("slow_link", "", 80, "see the transport"),
                       finding("exposed_communication", "slow_link", 90, "start it earlier")};
  EXPECT_TRUE(says(all_text(t.report), "→ start it earlier."));
  EXPECT_TRUE(says(analyze_text(t.report, {.detail = TextDetail::brief}), "→ start it earlier."));
  t.report.findings[1].gain = Ns{80};
  EXPECT_FALSE(says(all_text(t.report), "start it earlier"));
}

TEST(AnalyzeText, WhatCostsNoTimeStandsBelowTheBounds) {
  TestReport t({{{compute, 60}}, {{compute, 60}}});
  t.job.explanation.emplace();
  Finding bound;
  bound.id = bound.key = "launch_bound";
  bound.sort = FindingSort::bound;
  bound.gain = Ns{50};
  bound.what = msg::plain("the host is slow");
  Finding few;
  few.id = few.key = "too_few_steps";
  few.what = msg::plain("few steps");
  t.report.findings = {bound, few};
  const std::string text = all_text(t.report);
  EXPECT_LT(text.find("Bounds, which"), text.find("Without a gain of their own:\n  1. few steps"));
  EXPECT_FALSE(says(text, "Opportunities"));
}

TEST(AnalyzeText, ATruncatedInputIsSaid) {
  TestReport t({{{compute, 60}}});
  t.report.inputs.front().truncated = true;
  EXPECT_TRUE(says(all_text(t.report), "rank0.json is cut off"));
}

TEST(AnalyzeText, WithoutAnyRankThereIsOnlyTheSentence) {
  Analysis report;
  report.answer.sentence = msg::no_rank_read();
  EXPECT_EQ(analyze_text(report), "No rank could be read.\n");
}

}  // namespace
}  // namespace stepscope

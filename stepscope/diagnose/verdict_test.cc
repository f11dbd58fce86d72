// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/verdict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

Straggler& late(TestReport& t, int rank) {
  Straggler& s = t.job.stragglers.emplace_back();
  s.rank = rank;
  s.upper_bound = Ns{300'000'000};
  s.significant = true;
  StragglerCause& cause = s.cause.emplace();
  cause.doing = LateDoing::host_work;
  cause.amount = Ns{300'000'000};
  cause.what = "aten::item; and more";
  cause.in_steps = cause.steps = 1;
  cause.waiting = {0};
  cause.wait = Ns{350'000'000};
  cause.collectives = {CollectiveKind::all_reduce};
  return s;
}

void executed(TestReport& t, std::int64_t products, std::int64_t others) {
  ExecutedStep& step = t.rank(0).work.executed.steps.emplace_back();
  step.product_union = Ns{products};
  step.other_union = Ns{others};
  t.rank(0).work.executed.any_shapes = true;
}

TEST(Verdict, EachGroupOfCausesBindsWhereItTakesMost) {
  const std::vector<std::pair<BudgetCategory, BoundBy>> rules = {
      {compute, BoundBy::compute},
      {comm_overlapped, BoundBy::compute},
      {comm_exposed_wait, BoundBy::communication},
      {comm_exposed_transfer, BoundBy::communication},
      {comm_exposed_unsplit, BoundBy::communication},
      {idle_dependency, BoundBy::communication},
      {copy_exposed, BoundBy::copy},
      {idle_data, BoundBy::data},
      {idle_host, BoundBy::host},
      {idle_launch, BoundBy::host},
      {idle_sync, BoundBy::sync},
      {idle_unexplained, BoundBy::unexplained}};
  for (const auto& [category, bound] : rules) {
    const BudgetCategory other = category == copy_exposed ? idle_sync : copy_exposed;
    TestReport t({{{category, 60}, {other, 40}}});
    const JobVerdict verdict = find_verdict(t.job, std::nullopt);
    EXPECT_EQ(verdict.bound_by, bound) << budget_category_names[static_cast<std::size_t>(category)];
    EXPECT_TRUE(says(say_stopped(verdict.sentence), "A step takes 100 ms and is bound by"))
        << say_stopped(verdict.sentence);
    EXPECT_TRUE(says(say_stopped(verdict.sentence), "60.0 % of it"))
        << say_stopped(verdict.sentence);
  }
}

TEST(Verdict, OfCommunicationAloneNothingIsSaidOfWhatBindsTheStep) {
  TestReport t({{{comm_exposed_transfer, 60}, {idle_unexplained, 40}}});
  KernelTable& kernels = t.rank(0).work.kernels;
  EXPECT_FALSE(only_communication(t.job));
  kernels.classes.push_back({.kind = NameClass::communication, .count = 3, .total = Ns{60}});
  t.rank(0).recording.loose_rows = t.rank(0).recording.device_rows;
  EXPECT_TRUE(only_communication(t.job));
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::unexplained);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "Only communication was recorded, over 100 ms"))
      << say_stopped(verdict.sentence);
  EXPECT_FALSE(says(say_stopped(verdict.sentence), "bound by")) << say_stopped(verdict.sentence);
  kernels.classes.push_back({.kind = NameClass::matmul, .count = 1, .total = Ns{1}});
  EXPECT_FALSE(only_communication(t.job));
  kernels.classes.pop_back();
  t.rank(0).recording.loose_rows = 0;
  EXPECT_FALSE(only_communication(t.job));
}

TEST(Verdict, CausesOfOneGroupAddUp) {
  TestReport t({{{compute, 40}, {idle_host, 30}, {idle_launch, 30}}});
  EXPECT_EQ(find_verdict(t.job, std::nullopt).bound_by, BoundBy::host);
}

TEST(Verdict, MostlyOtherWorkThanProductsIsMemoryBoundAndSaysHowMuchOfTheStepItIs) {
  TestReport t({{{compute, 80}, {idle_host, 20}}});
  executed(t, 20, 60);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::memory);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "compute (80.0 % of it)"))
      << say_stopped(verdict.sentence);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "memory-bound kernels (60.0 %)"))
      << say_stopped(verdict.sentence);
}

TEST(Verdict, KernelsOfUnknownClassAreNotMemoryBound) {
  TestReport t({{{compute, 80}, {idle_host, 20}}});
  executed(t, 20, 30);
  t.rank(0).work.executed.steps.back().unclassed_union = Ns{30};
  EXPECT_EQ(find_verdict(t.job, std::nullopt).bound_by, BoundBy::compute);
}

TEST(Verdict, WaitingIsAStragglersWhereARankIsLate) {
  TestReport t({{{comm_exposed_wait, 80}, {compute, 20}}, {{compute, 40}, {idle_host, 60}}});
  late(t, 1);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::straggler);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit),
                   "rank 1 arrives 300 ms a step late (300 ms host in aten::item; and more)"))
      << say(verdict.culprit);
  EXPECT_TRUE(says(say(verdict.culprit), "rank 0 loses 80.0 ms of each step"))
      << say(verdict.culprit);
}

TEST(Verdict, ALateRankThatIsNotSignificantIsNobody) {
  TestReport t({{{comm_exposed_wait, 80}, {compute, 20}}, {{compute, 40}, {idle_host, 60}}});
  late(t, 1).significant = false;
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::communication);
  EXPECT_FALSE(says(say(verdict.culprit), "rank 1"));
}

TEST(Verdict, AStragglerBindsWhereItsPeersWaitMostWhateverItDoesItself) {
  // In the mean of both launch latency takes more than waiting, but only because of rank 1.
  TestReport t({{{comm_exposed_wait, 48}, {compute, 2}}, {{compute, 2}, {idle_launch, 58}}});
  late(t, 1);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::straggler);
}

TEST(Verdict, ALateRankIsSaidToSpendMoreThanItsPeersOnWhatDelaysIt) {
  TestReport t({{{comm_overlapped, 600}, {comm_exposed_wait, 350}, {idle_data, 50}},
                {{compute, 600}, {idle_data, 400}}});
  late(t, 1);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit), "data loading takes 350 ms a step more than on its peers"))
      << say(verdict.culprit);
  EXPECT_FALSE(says(say(verdict.culprit), "aten::item")) << "the loader is the cause";
  EXPECT_FALSE(says(say(verdict.culprit), "all_reduce")) << "who waits is said once";
}

TEST(Verdict, ALateRankIsNamedEvenWhereSomethingElseBinds) {
  TestReport t({{{compute, 90}, {comm_exposed_wait, 10}}, {{compute, 100}}});
  late(t, 1);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::compute);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit), "rank 1 arrives"));
}

TEST(Verdict, WaitingBetweenStagesIsThePipelinesBubble) {
  TestReport t({{{comm_exposed_wait, 60}, {compute, 40}}});
  MfuBudget mfu;
  MfuShare& bubble = mfu.terms.emplace_back();
  bubble.term = MfuTerm::pipeline_bubble;
  bubble.time = Ns{55'000'000};
  EXPECT_EQ(find_verdict(t.job, mfu).bound_by, BoundBy::bubble);
}

TEST(Verdict, CommunicationThatCannotBeSplitSaysWhy) {
  TestReport t({{{comm_exposed_unsplit, 80}, {compute, 20}}});
  t.job.collectives.matches.world_size = 8;
  EXPECT_TRUE(says(say_stopped(find_verdict(t.job, std::nullopt).sentence),
                   "waiting and transfer cannot be distinguished: 1 of 8 ranks are analysed"));
  TestReport apart({{{comm_exposed_unsplit, 80}}, {{comm_exposed_unsplit, 80}}});
  apart.job.collectives.matches.clocks_comparable = false;
  EXPECT_TRUE(says(say_stopped(find_verdict(apart.job, std::nullopt).sentence),
                   "clocks are not comparable"));
  TestReport split({{{comm_exposed_transfer, 80}, {compute, 20}}});
  EXPECT_FALSE(says(say_stopped(find_verdict(split.job, std::nullopt).sentence), "told apart"));
}

TEST(Verdict, TheCulpritOfComputeIsAProductAndNotCommunication) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  executed(t, 60, 30);
  t.kernel("ncclDevKernel_SendRecv()", NameClass::communication, 0.5);
  t.kernel("softmax", NameClass::elementwise, 0.3);
  KernelRow& gemm = t.kernel("void gemm<float>(int)", NameClass::matmul, 0.3);
  gemm.rate = FlopRate{5e12};
  gemm.total = Ns{20'000'000};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_EQ(say(verdict.culprit),
            "the costliest kernel of products, gemm (matmul), takes 20.0 % of the step at 5.00 "
            "TFLOP/s");
  t.rank(0).work.executed.any_shapes = false;
  EXPECT_TRUE(says(say(find_verdict(t.job, std::nullopt).culprit),
                   "the costliest kernel of compute, softmax (elementwise)"));
  t.rank(0).work.kernels.kernels.erase(t.rank(0).work.kernels.kernels.begin());
  EXPECT_TRUE(
      says(say(find_verdict(t.job, std::nullopt).culprit), "the costliest kernel, softmax"));
}

TEST(Verdict, TheCulpritOfMemoryTellsItsShareOfTheBandwidth) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  executed(t, 30, 60);
  t.kernel("gemm", NameClass::matmul, 0.5);
  KernelRow& softmax = t.kernel("softmax", NameClass::elementwise, 0.4);
  softmax.bandwidth = ByteRate{1e12};
  softmax.total = Ns{30'000'000};
  Machine machine;
  machine.memory_rate = ByteRate{4e12};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt, &machine);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit), "softmax (elementwise), takes 30.0 % of the step"))
      << say(verdict.culprit);
  EXPECT_TRUE(says(say(verdict.culprit), "25.0 % of the memory bandwidth")) << say(verdict.culprit);
}

TEST(Verdict, ProductsBelowThePeakSayHowFarBelow) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  executed(t, 60, 30);
  MfuBudget mfu;
  mfu.hfu = 0.4;
  MfuShare& below = mfu.terms.emplace_back();
  below.term = MfuTerm::kernel_inefficiency;
  below.percent = 40;
  const JobVerdict verdict = find_verdict(t.job, mfu);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit), "run at 50.0 % of the peak")) << say(verdict.culprit);
}

TEST(Verdict, TheCulpritOfAnIdleDeviceIsTheLongestGapOfThatCause) {
  TestReport t({{{idle_data, 60}, {compute, 40}}});
  t.gap(idle_host, 9'000'000, "aten::copy_");
  t.gap(idle_data, 5'000'000, "between next and aten::empty");
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_EQ(say(verdict.culprit),
            "the longest gap takes 5.00 ms while the host shows no row between next and "
            "aten::empty");
}

TEST(Verdict, AnIdleDeviceThatStartsLaunchedKernelsLateMayBeShared) {
  TestReport t({{{idle_launch, 60}, {compute, 40}}});
  t.gap(idle_launch, 60'000'000, "155 short operators and calls");
  t.rank(0).host.slack_p50 = Ns{1'000'000};
  EXPECT_TRUE(says(say(find_verdict(t.job, std::nullopt).culprit), "another process"));
  t.rank(0).device.idle.front().largest.front().host_activity = "hipLaunchKernel";
  EXPECT_FALSE(says(say(find_verdict(t.job, std::nullopt).culprit), "another process"));
}

TEST(Verdict, CopiesFromPageableMemoryAreToldToBePinned) {
  TestReport t({{{copy_exposed, 60}, {compute, 40}}});
  t.kernel("Memcpy HtoD (Pageable -> Device)", NameClass::copy, 0.6);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit), "from pinned"));
  TestReport back({{{copy_exposed, 60}, {compute, 40}}});
  back.kernel("Memcpy DtoH (Device -> Pageable)", NameClass::copy, 0.6);
  EXPECT_TRUE(says(say(find_verdict(back.job, std::nullopt).culprit), "into pinned"));
}

TEST(Verdict, MfuIsInTheSentenceAndHfuStandsForItWithoutModelFlops) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  MfuBudget mfu;
  mfu.hfu = 0.5;
  EXPECT_TRUE(says(say_stopped(find_verdict(t.job, mfu).sentence), "use 50.0 % of the peak (HFU)"));
  mfu.warnings = {msg::mfu_of_unknown_flops(Digits{40})};
  EXPECT_TRUE(says(say_stopped(find_verdict(t.job, mfu).sentence), "use at least 50.0 %"));
  mfu.mfu = 0.352;
  mfu.convention = "causal attention counted half";
  EXPECT_TRUE(says(say_stopped(find_verdict(t.job, mfu).sentence),
                   "35.2 % of the peak becomes model FLOPs (MFU, causal attention counted half)."));
}

// What the replay found is the answer on ranks without a device, too, and in their words.
TEST(Verdict, FaultsOfRanksWithoutADeviceAreNamed) {
  const auto answer_to = [](StepFault fault) {
    TestReport t({{{compute, 60}, {idle_data, 40}}, {{compute, 60}, {comm_exposed_wait, 40}}});
    for (const std::size_t rank : {0U, 1U}) t.rank(rank).device.kind = "cpu";
    late(t, 1);
    t.job.explanation.emplace();
    t.job.explanation->step = Ns{100'000'000};
    fault.gain = Ns{18'000'000};
    t.job.explanation->faults = {std::move(fault)};
    const JobVerdict verdict = find_verdict(t.job, std::nullopt);
    EXPECT_EQ(verdict.culprits.size(), 1U);
    EXPECT_EQ(verdict.sentence, verdict.culprits.front().sentence);
    return say_stopped(verdict.sentence);
  };
  const std::string_view cost = "this costs 18.0 ms (18.0 %) of each step of 100 ms.";
  const auto excess = Ns{20'000'000};
  EXPECT_EQ(answer_to({.kind = StepFaultKind::data_loader, .ranks = {0}, .excess = excess}),
            fmt::format("The data loader of rank 0 takes 20.0 ms a step longer than its peers': {}",
                        cost));
  EXPECT_EQ(
      answer_to(
          {.kind = StepFaultKind::data_loader, .ranks = {0}, .excess = excess, .at_most = true}),
      "The data loaders of all ranks may be equally slow, because their worker processes load "
      "while the ranks wait. Rank 0 waits 20.0 ms a step longer than its peers: this costs at "
      "most 18.0 ms (18.0 %) of each step of 100 ms.");
  EXPECT_EQ(
      answer_to({.kind = StepFaultKind::late_host, .ranks = {0}, .excess = excess}),
      fmt::format("Rank 0 spends 20.0 ms a step more than its peers between its operators: {}",
                  cost));
  EXPECT_EQ(answer_to({.kind = StepFaultKind::slow_rank, .ranks = {0}, .ratio = 1.3}),
            fmt::format("Operators of rank 0 take 1.30 × as long as the same operators of its "
                        "peers: {}",
                        cost));
}

// One rank with a device, replayed: what each change saves of a step of 100 ms.
struct Replayed : TestReport {
  explicit Replayed(const std::vector<TestBudget>& ranks) : TestReport(ranks) {
    job.explanation.emplace().step = Ns{100'000'000};
  }
  void saves(Change change, std::int64_t ms) {
    WhatIf& w = job.explanation->what_ifs.emplace_back();
    w.scenario.change = change;
    w.saved = Ns{ms * 1'000'000};
  }
};

// Steps that differ by more than a replay explains: the late rank is named from its arrivals, and
// what to record depends on what is missing.
TEST(Verdict, ALateRankIsNamedWhereNoReplayAnswers) {
  TestReport t({{{compute, 60}, {comm_exposed_wait, 40}}, {{compute, 60}, {idle_data, 40}}});
  late(t, 1);
  Explanation& e = t.job.explanation.emplace();
  e.refused = true;
  e.held_out = HeldOut{.steps = 2, .error = 0.06, .variation = 0.02};
  const auto culprit = [&] { return say(find_verdict(t.job, std::nullopt).culprit); };
  EXPECT_TRUE(culprit().starts_with("rank 1 arrives 300 ms a step late")) << culprit();
  EXPECT_TRUE(says(culprit(), ". Record ten or more steps")) << culprit();
  t.job.steps.common.resize(10);
  EXPECT_FALSE(says(culprit(), "Record")) << culprit();
  t.job.collectives.matches.world_size = 4;
  EXPECT_TRUE(says(culprit(), ". Record all ranks; docs/")) << culprit();
  t.job.stragglers.clear();
  EXPECT_TRUE(culprit().starts_with("record all ranks; docs/")) << culprit();
}

// Few steps prove nothing if the first one differs, but "no rank" would be false.
TEST(Verdict, TheLatestRankIsNamedWhereNoReplayAccusesOne) {
  TestReport t({{{compute, 80}, {comm_exposed_wait, 20}}, {{compute, 100}}});
  t.job.explanation.emplace().step = Ns{100'000'000};
  const auto sentence = [&] { return say_stopped(find_verdict(t.job, std::nullopt).sentence); };
  EXPECT_TRUE(says(sentence(), "No rank, process group, stage or step stands out")) << sentence();
  Straggler& s = t.job.stragglers.emplace_back();
  s.rank = 1;
  s.upper_bound = Ns{20'000'000};
  s.late_share = 0.2;
  s.persistence = 0.75;
  s.steps.resize(4);
  EXPECT_TRUE(says(sentence(),
                   "Rank 1 comes up to 20.0 ms (20.0 %) a step later to collectives "
                   "than its peers, and 4 steps do not show whether that lasts."))
      << sentence();
  t.job.stragglers.push_back(s);
  EXPECT_TRUE(says(sentence(), "No rank")) << "two as late as each other: " << sentence();
}

// What a device did without a row is not idle time, and host rows do not give it.
TEST(Verdict, NothingIsKnownToBindAStepWhoseDeviceWasNotRecorded) {
  TestReport t({{{not_recorded, 90}, {idle_unexplained, 10}}});
  RankRecording& recording = t.rank(0).recording;
  recording.format = "kineto";
  recording.device_rows = 0;
  recording.launches = recording.lost_launches = 77;
  t.job.explanation.emplace().path.length = Ns{100};
  withhold_unfounded(t.job);
  EXPECT_EQ(t.job.explanation->path.length, Ns{0}) << "not even the critical path";
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_TRUE(says(say_stopped(verdict.sentence),
                   "A step takes 100 ms. No what-if: the device's work was not recorded"))
      << say_stopped(verdict.sentence);
  const std::string call = "call torch.cuda.synchronize() before the profiler stops";
  EXPECT_TRUE(
      say(verdict.culprit)
          .starts_with("record the device's rows (ProfilerActivity.CUDA); if that was on, " + call))
      << say(verdict.culprit);
  // The profiler writes its overhead on the device only where it was asked for the device.
  recording.rows[static_cast<std::size_t>(Category::overhead)] = 1;
  EXPECT_TRUE(say(find_verdict(t.job, std::nullopt).culprit).starts_with(call));
  recording.format = "nsys";
  EXPECT_EQ(say(find_verdict(t.job, std::nullopt).culprit),
            "record the device's rows (--trace=cuda); docs/how-to/record-a-trace.md");
}

TEST(Verdict, ADeviceThatAnotherProcessSharesIsAFault) {
  Replayed t({{{compute, 60}, {idle_launch, 40}}, {{compute, 60}, {comm_exposed_wait, 40}}});
  t.saves(Change::device_alone, 30);
  t.job.explanation->held = {{.rank = 1, .count = 24, .slice = Ns{2'000'000}}};
  t.job.explanation->faults = {
      {.kind = StepFaultKind::sync_calls, .gain = Ns{8'000'000}, .count = 3}};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_EQ(verdict.culprits.size(), 2U);
  EXPECT_EQ(verdict.culprits.front().kind, CulpritKind::device_shared);
  EXPECT_EQ(verdict.culprits.front().ranks, std::vector<int>{1});
  EXPECT_EQ(say_stopped(verdict.sentence),
            "Another process takes time slices of the device of rank 1: this costs 30.0 ms "
            "(30.0 %) of each step of 100 ms.");
  t.job.explanation->held.front().total = Ns{50'000'000};
  EXPECT_TRUE(says(say_stopped(find_verdict(t.job, std::nullopt).sentence),
                   "The slices take 50.0 ms a step; without them the step waits for other work in "
                   "20.0 ms of that time"))
      << say_stopped(find_verdict(t.job, std::nullopt).sentence);
  t.job.explanation->held.front().slice.reset();
  EXPECT_EQ(find_verdict(t.job, std::nullopt).culprits.front().kind, CulpritKind::sync_calls);
}

TEST(Verdict, AHostThatHoldsTheDeviceBackIsNamedBeforeASmallFault) {
  Replayed t({{{compute, 55}, {idle_host, 45}}, {{compute, 55}, {idle_host, 45}}});
  t.saves(Change::host_free, 45);
  t.job.explanation->faults = {
      {.kind = StepFaultKind::sync_calls, .gain = Ns{4'000'000}, .count = 3}};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_EQ(verdict.culprits.size(), 2U);
  EXPECT_EQ(verdict.culprits[0].kind, CulpritKind::launch_bound);
  EXPECT_EQ(verdict.culprits[1].kind, CulpritKind::sync_calls);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "Launches from the host cost 45.0 ms"))
      << say_stopped(verdict.sentence);
  EXPECT_FALSE(says(say_stopped(verdict.sentence), "stands out")) << say_stopped(verdict.sentence);
  t.job.explanation->faults.front().gain = Ns{8'000'000};
  EXPECT_EQ(find_verdict(t.job, std::nullopt).culprits.front().kind, CulpritKind::sync_calls);
}

TEST(Verdict, ExposedCommunicationIsNamedBeforeASmallFault) {
  Replayed t({{{compute, 55}, {comm_exposed_transfer, 45}}});
  t.saves(Change::communication_free, 45);
  t.job.explanation->faults = {
      {.kind = StepFaultKind::sync_calls, .gain = Ns{4'000'000}, .count = 3}};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.culprits.front().kind, CulpritKind::exposed_communication);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "Communication costs 45.0 ms (45.0 %) of it"))
      << say_stopped(verdict.sentence);
  EXPECT_FALSE(says(say_stopped(verdict.sentence), "stands out")) << say_stopped(verdict.sentence);
  t.job.explanation->faults.front().gain = Ns{8'000'000};
  EXPECT_EQ(find_verdict(t.job, std::nullopt).culprits.front().kind, CulpritKind::sync_calls);
}

TEST(Verdict, AfterComputeThatBindsTheNextIsNamed) {
  Replayed t({{{compute, 88}, {comm_exposed_transfer, 12}}, {{compute, 88}, {idle_host, 12}}});
  t.saves(Change::communication_free, 9);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::compute);
  EXPECT_EQ(verdict.culprits.front().kind, CulpritKind::compute_bound);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "Communication costs 9.00 ms (9.0 %) of it"))
      << say_stopped(verdict.sentence);
  t.job.explanation->what_ifs.clear();
  t.saves(Change::communication_free, 4);
  EXPECT_FALSE(says(say_stopped(find_verdict(t.job, std::nullopt).sentence), "costs"))
      << "little is no news";
}

TEST(Verdict, AllocationsThatFreeMemoryFirstAreAFaultIfTheyCostMuch) {
  Replayed t({{{compute, 60}, {idle_host, 40}}});
  t.saves(Change::allocator_free, 25);
  t.rank(0).host.retries = {.count = 1, .frees = 17, .total = Ns{20'000'000}};
  t.job.explanation->faults = {
      {.kind = StepFaultKind::sync_calls, .gain = Ns{8'000'000}, .count = 3}};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_EQ(verdict.culprits.size(), 2U);
  EXPECT_EQ(verdict.culprits.front().kind, CulpritKind::allocation_retries);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "costs at most 20.0 ms (20.0 %)"))
      << say_stopped(verdict.sentence);
  EXPECT_TRUE(says(say_stopped(verdict.sentence),
                   "All calls of the allocator together cost 25.0 ms (25.0 %)"))
      << "what the printed change saves: " << say_stopped(verdict.sentence);
  EXPECT_TRUE(says(say(verdict.culprit), "the step with an allocator that takes no time: "))
      << say(verdict.culprit);
  t.rank(0).host.retries.total = Ns{4'000'000};
  EXPECT_EQ(find_verdict(t.job, std::nullopt).culprits.size(), 1U);
}

TEST(Verdict, CopiesBindAStepThatTheyHoldBackMost) {
  Replayed t({{{compute, 60}, {copy_exposed, 40}}});
  t.saves(Change::copies_free, 39);
  t.saves(Change::host_free, 50);  // no more than the device is without work
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_EQ(verdict.culprits.size(), 1U);
  EXPECT_EQ(verdict.culprits.front().kind, CulpritKind::exposed_copies);
  EXPECT_EQ(verdict.bound_by, BoundBy::copy);
  EXPECT_TRUE(says(say_stopped(verdict.sentence), "Copies cost 39.0 ms (39.0 %) of it"))
      << say_stopped(verdict.sentence);
}

TEST(Verdict, IdleTimeThatNothingExplainsIsSaidWhereItIsMost) {
  Replayed t({{{compute, 20}, {copy_exposed, 20}, {idle_unexplained, 60}}});
  t.saves(Change::copies_free, 19);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  EXPECT_EQ(verdict.bound_by, BoundBy::copy);
  const std::string sentence = say_stopped(verdict.sentence);
  EXPECT_TRUE(says(sentence, "idle time that the trace does not explain (60.0 %")) << sentence;
  EXPECT_TRUE(says(sentence, "Copies cost 19.0 ms (19.0 %) of it")) << sentence;
}

TEST(Verdict, TransferThatMayBeWaitingIsNotSaidToBeSavedByFreeCommunication) {
  Replayed t({{{compute, 20}, {comm_exposed_unsplit, 80}}});
  t.saves(Change::communication_free, 80);
  const std::string sentence = say_stopped(find_verdict(t.job, std::nullopt).sentence);
  EXPECT_TRUE(
      says(sentence,
           "costs at most 80.0 ms (80.0 %) of it; waiting and transfer cannot be distinguished"))
      << sentence;
  EXPECT_FALSE(says(sentence, "would save")) << sentence;
}

TEST(Verdict, AFreeHostSavesNoMoreThanTheDeviceIsWithoutWork) {
  Replayed t({{{compute, 75}, {idle_host, 20}, {idle_launch, 5}}});
  t.saves(Change::host_free, 60);
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_EQ(verdict.culprits.size(), 1U);
  EXPECT_EQ(verdict.culprits.front().kind, CulpritKind::launch_bound);
  EXPECT_EQ(verdict.culprits.front().gain, Ns{25'000'000});
}

// The peers wait while the host of one rank is late: that is the same time.
TEST(Verdict, WaitingForAHostIsNotCountedTwice) {
  Replayed t({{{compute, 50}, {idle_host, 30}, {comm_exposed_wait, 20}},
              {{compute, 50}, {idle_host, 20}, {comm_exposed_wait, 30}}});
  t.saves(Change::host_free, 45);
  EXPECT_EQ(find_verdict(t.job, std::nullopt).culprits.front().gain, Ns{30'000'000});
}

TEST(Verdict, AFaultOfOneStepSaysThatItMayNotLast) {
  Replayed t({{{compute, 60}, {idle_host, 40}}, {{compute, 60}, {comm_exposed_wait, 40}}});
  t.job.explanation->faults = {{.kind = StepFaultKind::late_host,
                                .ranks = {0},
                                .gain = Ns{40'000'000},
                                .excess = Ns{40'000'000},
                                .lacks_steps = 1}};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_FALSE(verdict.culprits.empty());
  EXPECT_EQ(verdict.culprits.front().confidence, Confidence::low);
  EXPECT_TRUE(says(say_stopped(verdict.sentence),
                   "1 step that counts does not show whether that "
                   "lasts"))
      << say_stopped(verdict.sentence);
}

TEST(Verdict, WhatNoReplayRemovesIsNoVerdictOfCompute) {
  Replayed t({{{compute, 30}, {idle_host, 70}}});
  t.saves(Change::host_free, 1);
  EXPECT_TRUE(find_verdict(t.job, std::nullopt).culprits.empty());
}

TEST(Verdict, AWindowIsNoStepAndOneRankHasNoPeers) {
  Replayed t({{{compute, 60}, {idle_data, 40}}});
  t.job.explanation->faults = {
      {.kind = StepFaultKind::data_loader, .gain = Ns{18'000'000}, .excess = Ns{20'000'000}}};
  EXPECT_EQ(say_stopped(find_verdict(t.job, std::nullopt).sentence),
            "Waiting for the data loader takes 20.0 ms a step: this costs 18.0 ms (18.0 %) of "
            "each step of 100 ms.");
  t.rank(0).steps.front().name = "window";
  t.job.explanation->faults.front() = {
      .kind = StepFaultKind::sync_calls, .gain = Ns{18'000'000}, .count = 9};
  EXPECT_EQ(say_stopped(find_verdict(t.job, std::nullopt).sentence),
            "Synchronising calls make the host wait for its device 9 times: this costs 18.0 ms "
            "(18.0 %) of the recorded window of 100 ms.");
}

TEST(Verdict, TheFirstOfSeveralReplayedStepsHasNotTheLongestGap) {
  Replayed t({{{compute, 60}, {idle_host, 40}}});
  t.saves(Change::host_free, 40);
  t.gap(idle_host, 9'000'000, "cudaLaunchKernel");
  t.gap(idle_host, 5'000'000, "aten::copy_");
  t.rank(0).device.idle.back().largest.front().step = 6;
  t.job.steps.common.push_back({6, Ns{}, Ns{}, {0}});
  t.job.steps.counted = {Step{.index = 6}};
  const JobVerdict verdict = find_verdict(t.job, std::nullopt);
  ASSERT_FALSE(verdict.culprit.empty());
  EXPECT_TRUE(says(say(verdict.culprit), "the longest gap takes 5.00 ms while"))
      << say(verdict.culprit);
}

TEST(Verdict, TheMostExposedCollectiveIsCountedForOneRankAndStep) {
  TestReport t({{{compute, 30}, {comm_exposed_transfer, 70}}});
  CollectiveRow& row = t.job.collectives.rows.emplace_back();
  row.kind = CollectiveKind::all_reduce;
  row.group = "tp";
  row.groups = {0, 1};
  row.count = 80;
  row.exposed = Ns{70'000'000};
  EXPECT_EQ(say(find_verdict(t.job, std::nullopt).culprit),
            "all_reduce in groups tp is exposed most, 40 calls a step");
}

TEST(Verdict, NothingToAnswerFromIsSaid) {
  const JobResult none;
  EXPECT_EQ(say_stopped(find_verdict(none, std::nullopt).sentence), "No rank could be read.");
  TestReport apart({{{compute, 90}}, {{compute, 90}}});
  apart.job.steps.spread = {};
  EXPECT_TRUE(
      says(say_stopped(find_verdict(apart.job, std::nullopt).sentence), "no step in common"));
}

}  // namespace
}  // namespace stepscope

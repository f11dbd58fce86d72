// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/answer.h"

#include <gtest/gtest.h>

#include "stepscope/report/report_test_builder.h"

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
  ExecutedStep& step = t.rank(0).executed.steps.emplace_back();
  step.product_union = Ns{products};
  step.other_union = Ns{others};
  t.rank(0).executed.any_shapes = true;
}

TEST(Answer, EachGroupOfCausesBindsWhereItTakesMost) {
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
    const Answer answer = find_answer(t.job, std::nullopt);
    EXPECT_EQ(answer.bound_by, bound) << budget_category_names[static_cast<std::size_t>(category)];
    EXPECT_TRUE(says(answer.sentence, "A step takes 100 ms and is bound by")) << answer.sentence;
    EXPECT_TRUE(says(answer.sentence, "60.0 % of it")) << answer.sentence;
  }
}

TEST(Answer, OfCommunicationAloneNothingIsSaidOfWhatBindsTheStep) {
  TestReport t({{{comm_exposed_transfer, 60}, {idle_unexplained, 40}}});
  KernelTable& kernels = t.rank(0).kernels;
  EXPECT_FALSE(only_communication(t.job));
  kernels.classes.push_back({.kind = NameClass::communication, .count = 3, .total = Ns{60}});
  EXPECT_TRUE(only_communication(t.job));
  const Answer answer = find_answer(t.job, std::nullopt);
  EXPECT_EQ(answer.bound_by, BoundBy::unexplained);
  EXPECT_TRUE(says(answer.sentence, "Only communication was recorded, over 100 ms"))
      << answer.sentence;
  EXPECT_FALSE(says(answer.sentence, "bound by")) << answer.sentence;
  kernels.classes.push_back({.kind = NameClass::matmul, .count = 1, .total = Ns{1}});
  EXPECT_FALSE(only_communication(t.job));
  kernels.classes.pop_back();
  t.rank(0).has_launch_rows = true;
  EXPECT_FALSE(only_communication(t.job));
}

TEST(Answer, CausesOfOneGroupAddUp) {
  TestReport t({{{compute, 40}, {idle_host, 30}, {idle_launch, 30}}});
  EXPECT_EQ(find_answer(t.job, std::nullopt).bound_by, BoundBy::host);
}

TEST(Answer, MostlyOtherWorkThanProductsIsMemoryBoundAndSaysHowMuchOfTheStepItIs) {
  TestReport t({{{compute, 80}, {idle_host, 20}}});
  executed(t, 20, 60);
  const Answer answer = find_answer(t.job, std::nullopt);
  EXPECT_EQ(answer.bound_by, BoundBy::memory);
  EXPECT_TRUE(says(answer.sentence, "compute (80.0 % of it)")) << answer.sentence;
  EXPECT_TRUE(says(answer.sentence, "memory-bound kernels (60.0 %)")) << answer.sentence;
}

TEST(Answer, WaitingIsAStragglersWhereARankIsLate) {
  TestReport t({{{comm_exposed_wait, 80}, {compute, 20}}, {{compute, 40}, {idle_host, 60}}});
  late(t, 1);
  const Answer answer = find_answer(t.job, std::nullopt);
  EXPECT_EQ(answer.bound_by, BoundBy::straggler);
  ASSERT_TRUE(answer.culprit);
  EXPECT_TRUE(says(*answer.culprit,
                   "rank 1 arrives 300 ms a step late (300 ms host in aten::item; and more)"))
      << *answer.culprit;
  EXPECT_TRUE(says(*answer.culprit, "rank 0 loses 80.0 ms of each step")) << *answer.culprit;
}

TEST(Answer, ALateRankThatIsNotSignificantIsNobody) {
  TestReport t({{{comm_exposed_wait, 80}, {compute, 20}}, {{compute, 40}, {idle_host, 60}}});
  late(t, 1).significant = false;
  const Answer answer = find_answer(t.job, std::nullopt);
  EXPECT_EQ(answer.bound_by, BoundBy::communication);
  EXPECT_FALSE(answer.culprit && says(*answer.culprit, "rank 1"));
}

TEST(Answer, AStragglerBindsWhereItsPeersWaitMostWhateverItDoesItself) {
  // In the mean of both launch latency takes more than waiting, but only because of rank 1.
  TestReport t({{{comm_exposed_wait, 48}, {compute, 2}}, {{compute, 2}, {idle_launch, 58}}});
  late(t, 1);
  const Answer answer = find_answer(t.job, std::nullopt);
  EXPECT_EQ(answer.bound_by, BoundBy::straggler);
}

TEST(Answer, ALateRankIsSaidToSpendMoreThanItsPeersOnWhatDelaysIt) {
  TestReport t({{{comm_overlapped, 600}, {comm_exposed_wait, 350}, {idle_data, 50}},
                {{compute, 600}, {idle_data, 400}}});
  late(t, 1);
  const Answer answer = find_answer(t.job, std::nullopt);
  ASSERT_TRUE(answer.culprit);
  EXPECT_TRUE(says(*answer.culprit, "data loading takes 350 ms a step more than on its peers"))
      << *answer.culprit;
  EXPECT_FALSE(says(*answer.culprit, "aten::item")) << "the loader is the cause";
  EXPECT_FALSE(says(*answer.culprit, "all_reduce")) << "who waits is said once";
}

TEST(Answer, ALateRankIsNamedEvenWhereSomethingElseBinds) {
  TestReport t({{{compute, 90}, {comm_exposed_wait, 10}}, {{compute, 100}}});
  late(t, 1);
  const Answer answer = find_answer(t.job, std::nullopt);
  EXPECT_EQ(answer.bound_by, BoundBy::compute);
  ASSERT_TRUE(answer.culprit);
  EXPECT_TRUE(says(*answer.culprit, "rank 1 arrives"));
}

TEST(Answer, WaitingBetweenStagesIsThePipelinesBubble) {
  TestReport t({{{comm_exposed_wait, 60}, {compute, 40}}});
  MfuBudget mfu;
  MfuShare& bubble = mfu.terms.emplace_back();
  bubble.term = MfuTerm::pipeline_bubble;
  bubble.time = Ns{55'000'000};
  EXPECT_EQ(find_answer(t.job, mfu).bound_by, BoundBy::bubble);
}

TEST(Answer, CommunicationThatCannotBeSplitSaysWhy) {
  TestReport t({{{comm_exposed_unsplit, 80}, {compute, 20}}});
  t.job.collectives.matches.world_size = 8;
  EXPECT_TRUE(says(find_answer(t.job, std::nullopt).sentence,
                   "waiting and transfer cannot be told apart: the traces of 1 of 8 ranks"));
  TestReport apart({{{comm_exposed_unsplit, 80}}, {{comm_exposed_unsplit, 80}}});
  apart.job.collectives.matches.clocks_comparable = false;
  EXPECT_TRUE(says(find_answer(apart.job, std::nullopt).sentence, "clocks are not comparable"));
  TestReport split({{{comm_exposed_transfer, 80}, {compute, 20}}});
  EXPECT_FALSE(says(find_answer(split.job, std::nullopt).sentence, "told apart"));
}

TEST(Answer, TheCulpritOfComputeIsAProductAndNotCommunication) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  executed(t, 60, 30);
  t.kernel("ncclDevKernel_SendRecv()", NameClass::communication, 0.5);
  t.kernel("softmax", NameClass::elementwise, 0.3);
  t.kernel("void gemm<float>(int)", NameClass::matmul, 0.2).rate = FlopRate{5e12};
  const Answer answer = find_answer(t.job, std::nullopt);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(*answer.culprit,
            "the costliest kernel, gemm (matmul), takes 20.0 % of the device time at 5.00 TFLOP/s");
}

TEST(Answer, TheCulpritOfMemoryTellsItsShareOfTheBandwidth) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  executed(t, 30, 60);
  t.kernel("gemm", NameClass::matmul, 0.5);
  t.kernel("softmax", NameClass::elementwise, 0.3).bandwidth = ByteRate{1e12};
  Machine machine;
  machine.memory_rate = ByteRate{4e12};
  const Answer answer = find_answer(t.job, std::nullopt, &machine);
  ASSERT_TRUE(answer.culprit);
  EXPECT_TRUE(says(*answer.culprit, "softmax (elementwise), takes 30.0 %")) << *answer.culprit;
  EXPECT_TRUE(says(*answer.culprit, "25.0 % of the memory bandwidth")) << *answer.culprit;
}

TEST(Answer, ProductsBelowThePeakSayHowFarBelow) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  executed(t, 60, 30);
  MfuBudget mfu;
  mfu.hfu = 0.4;
  MfuShare& below = mfu.terms.emplace_back();
  below.term = MfuTerm::kernel_inefficiency;
  below.percent = 40;
  const Answer answer = find_answer(t.job, mfu);
  ASSERT_TRUE(answer.culprit);
  EXPECT_TRUE(says(*answer.culprit, "run at 50.0 % of the peak")) << *answer.culprit;
}

TEST(Answer, TheCulpritOfAnIdleDeviceIsTheLongestGapOfThatCause) {
  TestReport t({{{idle_data, 60}, {compute, 40}}});
  t.gap(idle_host, 9'000'000, "aten::copy_");
  t.gap(idle_data, 5'000'000, "between next and aten::empty");
  const Answer answer = find_answer(t.job, std::nullopt);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(*answer.culprit,
            "the longest gap takes 5.00 ms while the host shows no row between next and "
            "aten::empty");
}

TEST(Answer, AnIdleDeviceThatStartsLaunchedKernelsLateMayBeShared) {
  TestReport t({{{idle_launch, 60}, {compute, 40}}});
  t.gap(idle_launch, 60'000'000, "155 short operators and calls");
  t.rank(0).host.slack_p50 = Ns{1'000'000};
  EXPECT_TRUE(says(find_answer(t.job, std::nullopt).culprit.value_or(""), "another process"));
  t.rank(0).idle.front().largest.front().host_activity = "hipLaunchKernel";
  EXPECT_FALSE(says(find_answer(t.job, std::nullopt).culprit.value_or(""), "another process"));
}

TEST(Answer, CopiesFromPageableMemoryAreToldToBePinned) {
  TestReport t({{{copy_exposed, 60}, {compute, 40}}});
  t.kernel("Memcpy HtoD (Pageable -> Device)", NameClass::copy, 0.6);
  const Answer answer = find_answer(t.job, std::nullopt);
  ASSERT_TRUE(answer.culprit);
  EXPECT_TRUE(says(*answer.culprit, "pinned"));
}

TEST(Answer, MfuIsInTheSentenceAndHfuStandsForItWithoutModelFlops) {
  TestReport t({{{compute, 90}, {idle_host, 10}}});
  MfuBudget mfu;
  mfu.hfu = 0.5;
  EXPECT_TRUE(says(find_answer(t.job, mfu).sentence, "use 50.0 % of the peak (HFU)"));
  mfu.mfu = 0.352;
  mfu.convention = "causal attention counted half";
  EXPECT_TRUE(says(find_answer(t.job, mfu).sentence,
                   "35.2 % of the peak becomes model FLOPs (MFU, causal attention counted half)."));
}

TEST(Answer, NothingToAnswerFromIsSaid) {
  const JobResult none;
  EXPECT_EQ(find_answer(none, std::nullopt).sentence, "No rank could be read.");
  TestReport apart({{{compute, 90}}});
  apart.job.spread = {};
  EXPECT_TRUE(says(find_answer(apart.job, std::nullopt).sentence, "no step in common"));
}

}  // namespace
}  // namespace stepscope

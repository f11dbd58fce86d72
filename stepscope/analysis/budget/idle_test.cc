// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/idle.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

std::vector<IdleCause> causes_of(TraceBuilder& b, std::size_t largest = 5) {
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const std::vector<Step> steps = find_steps(trace, rank);
  const TimeBudget budget = time_budget(trace, rank, steps);
  std::vector<IdleCause> causes = idle_causes(trace, rank, steps, budget.rank(), largest);
  for (const IdleCause& cause : causes) EXPECT_EQ(cause.total, budget.total[cause.cause]);
  return causes;
}

TEST(Idle, ASilentHostIsNamedByTheOperatorsAroundTheSilence) {
  TraceBuilder b;
  b.step("ProfilerStep#3", 0, 2000);
  b.launch(1, 1, 2);
  b.kernel("a", 10, 20, 1);
  b.op("aten::view", 30, 35);
  b.op("autograd::engine::evaluate_function: _AlltoAllSingle", 1035, 1050);
  b.launch(2, 1040, 1042);
  b.kernel("ncclDevKernel_SendRecv", 1045, 2000, 2);
  const auto causes = causes_of(b);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].cause, BudgetCategory::idle_host);
  EXPECT_EQ(causes[0].count, 1u);
  ASSERT_EQ(causes[0].largest.size(), 1u);
  const IdleInstance& gap = causes[0].largest[0];
  EXPECT_EQ(gap.start, Ns{20});
  EXPECT_EQ(gap.wall, Ns{1020});
  EXPECT_EQ(gap.step, 3);
  EXPECT_EQ(gap.host_activity, "between aten::view and _AlltoAllSingle");
  EXPECT_EQ(gap.culprit, std::nullopt);
  EXPECT_EQ(causes[1].cause, BudgetCategory::idle_launch);
  EXPECT_EQ(causes[1].largest[0].culprit, "ncclDevKernel_SendRecv");
}

TEST(Idle, ASyncIsBlamedOnTheOperatorThatCallsIt) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 200);
  b.launch(1, 1, 2);
  b.kernel("a", 10, 20, 1);
  b.op("aten::item", 12, 90);
  b.op("aten::_local_scalar_dense", 13, 88);
  b.row(b.thread(1), Category::runtime, "cudaStreamSynchronize", 15, 80);
  b.launch(2, 95, 96);
  b.kernel("b", 97, 200, 2);
  const auto causes = causes_of(b);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].cause, BudgetCategory::idle_sync);
  EXPECT_EQ(causes[0].total, Ns{60});
  EXPECT_EQ(causes[0].largest[0].host_activity, "cudaStreamSynchronize");
  EXPECT_EQ(causes[0].largest[0].culprit, "aten::item");
}

TEST(Idle, OnlyTheLargestInstancesAreKeptLongestFirst) {
  TraceBuilder b;
  std::int64_t t = 0;
  for (const std::int64_t gap : {5, 50, 20, 40}) {
    b.kernel("k", t, t + 10);
    t += 10 + gap;
  }
  b.kernel("k", t, t + 10);
  const auto causes = causes_of(b, 2);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cause, BudgetCategory::idle_unexplained);
  EXPECT_EQ(causes[0].count, 4u);
  EXPECT_EQ(causes[0].total, Ns{115});
  ASSERT_EQ(causes[0].largest.size(), 2u);
  EXPECT_EQ(causes[0].largest[0].wall, Ns{50});
  EXPECT_EQ(causes[0].largest[1].wall, Ns{40});
}

TEST(Idle, InStartUpIsWhatTheDeviceWaitsForMeanwhile) {
  StartUp start_up;
  start_up.spans = {{.start = Ns{10}, .end = Ns{30}, .kind = StartUpKind::code, .what = "a"},
                    {.start = Ns{20}, .end = Ns{40}, .kind = StartUpKind::code, .what = "b"}};
  const auto piece = [](std::int64_t start, std::int64_t end, BudgetCategory cause) {
    IdlePiece p;
    p.start = Ns{start};
    p.end = Ns{end};
    p.cause = cause;
    return p;
  };
  const std::vector<IdlePiece> idle = {piece(0, 15, BudgetCategory::idle_host),
                                       piece(15, 18, BudgetCategory::idle_sync),
                                       piece(25, 60, BudgetCategory::idle_launch)};
  const std::vector<Step> steps = {{.index = 0, .start = Ns{0}, .end = Ns{20}},
                                   {.index = 1, .start = Ns{20}, .end = Ns{60}}};
  find_idle_in_start_up(idle, steps, start_up);
  EXPECT_EQ(start_up.idle, Ns{5 + 15}) << "their common part counts once";
  EXPECT_EQ(start_up.spans[0].idle, Ns{5 + 5});
  EXPECT_EQ(start_up.spans[1].idle, Ns{15});
  find_idle_in_start_up(idle, std::span(steps).subspan(1), start_up);
  EXPECT_EQ(start_up.idle, Ns{15}) << "the first step does not count";
  EXPECT_EQ(start_up.spans[0].idle, Ns{5});
}

TEST(Idle, ARankThatNeverIdlesHasNoCauses) {
  TraceBuilder b;
  b.kernel("k", 0, 10);
  EXPECT_TRUE(causes_of(b).empty());
}

class Activity : public ::testing::Test {
 protected:
  std::string of(std::int64_t start, std::int64_t end) {
    const TrackId thread = b.thread(1);
    const Trace trace = b.sealed();
    return host_activity(trace, thread, Ns{0}, Ns{start}, Ns{end}).text;
  }
  TraceBuilder b;
};

TEST_F(Activity, TheDeepestRowThatFillsMostOfTheTimeIsNamed) {
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::to", 10, 90);
  b.op("aten::copy_", 15, 85);
  b.op("aten::empty", 11, 14);
  EXPECT_EQ(of(20, 80), "aten::copy_");
}

TEST_F(Activity, ALongFirstCallOfTheRuntimeIsSaidToBeOne) {
  const TrackId thread = b.thread(1);
  b.row(thread, Category::runtime, "cudaLaunchKernel", 0, 2'000'000);
  b.row(thread, Category::runtime, "cudaLaunchKernel", 3'000'000, 5'000'000);
  b.row(thread, Category::runtime, "cudaMalloc", 6'000'000, 6'900'000);
  const Trace trace = b.sealed();
  const auto at = [&](std::int64_t start, std::int64_t end) {
    return host_activity(trace, thread, Ns{0}, Ns{start}, Ns{end}).text;
  };
  EXPECT_EQ(at(100, 1'900'000), "cudaLaunchKernel (its first call)");
  EXPECT_EQ(at(3'000'100, 4'900'000), "cudaLaunchKernel");
  EXPECT_EQ(at(6'000'100, 6'800'000), "cudaMalloc");  // short
}

TEST_F(Activity, AnAnnotationAroundIsNamedBesideTheRowsInIt) {
  b.step("## forward ##", 0, 100);
  b.op("aten::add", 10, 20);
  b.op("aten::mul", 80, 90);
  EXPECT_EQ(of(15, 85), "between aten::add and aten::mul in ## forward ##");
}

TEST_F(Activity, APythonFrameSaysWhereTheSilenceIs) {
  b.row(b.thread(1), Category::python_function, "train.py(3): checkpoint", 0, 100);
  EXPECT_EQ(of(15, 85), "train.py(3): checkpoint");
}

TEST_F(Activity, ManyShortRowsAreCounted) {
  for (std::int64_t t = 0; t < 100; t += 10) b.op("aten::add", t, t + 9);
  EXPECT_EQ(of(0, 100), "10 short operators and calls");
}

TEST_F(Activity, AnEmptyThreadShowsNothing) {
  b.op("aten::add", 500, 510);
  EXPECT_EQ(of(0, 100), "before aten::add");
}

// Thread 1 launches a kernel that runs in [0, 300) and, much later, one that runs in [800, 1000).
struct Waits {
  TraceBuilder b;
  Waits() {
    b.step("ProfilerStep#0", 0, 1000);
    b.launch(1, 0, 1);
    b.kernel("gemm", 0, 300, 1);
    b.launch(2, 780, 790);
    b.kernel("gemm", 800, 1000, 2);
  }
  GilWaits found() {
    const Trace trace = b.sealed();
    const RankIndex rank = index_rank(trace);
    const std::vector<Step> steps = find_steps(trace, rank);
    const TimeBudget budget = time_budget(trace, rank, steps);
    return gil_waits(trace, rank, steps, budget.rank());
  }
};

TEST(GilWaits, CountsWhatTheDeviceIdledInThem) {
  Waits w;
  w.b.row(w.b.thread(1), Category::other, "take_gil", 100, 500);
  w.b.row(w.b.thread(1), Category::other, "take_gil", 600, 700);
  const GilWaits found = w.found();
  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.total, Ns{500});
  EXPECT_EQ(found.idle, Ns{300});  // [300, 500) and [600, 700)
  EXPECT_EQ(found.worst_at, Ns{100});
  EXPECT_EQ(found.worst, Ns{400});
}

TEST(GilWaits, RowsInsideEachOtherCountOnce) {
  Waits w;
  w.b.row(w.b.thread(1), Category::other, "PyGILState_Ensure", 400, 700);
  w.b.row(w.b.thread(1), Category::other, "take_gil", 450, 650);
  const GilWaits found = w.found();
  EXPECT_EQ(found.total, Ns{300});
  EXPECT_EQ(found.idle, Ns{300});
}

TEST(GilWaits, ABusyDeviceLosesNothing) {
  Waits w;
  w.b.row(w.b.thread(1), Category::other, "take_gil", 10, 290);
  EXPECT_EQ(w.found().idle, Ns{0});
}

TEST(GilWaits, ThreadsThatLaunchNothingDoNotCount) {
  Waits w;
  w.b.row(w.b.thread(7), Category::other, "take_gil", 300, 700);
  EXPECT_EQ(w.found().count, 0U);
}

TEST(GilWaits, KnowsItsRowsByName) {
  EXPECT_TRUE(is_gil_wait("take_gil"));
  EXPECT_TRUE(is_gil_wait("Waiting for GIL"));
  EXPECT_FALSE(is_gil_wait("hold_gil"));
  EXPECT_FALSE(is_gil_wait("aten::agile"));
}

}  // namespace

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Idle time that the recording cannot vouch for.
#include <gtest/gtest.h>

#include "stepscope/analysis/budget/budget_test_builder.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

TEST(NotRecorded, IsAGapInWhichALaunchWasLost) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.launch(1, 0, 2);
  b.kernel("a", 5, 15, 1);
  b.launch(2, 20, 22);  // its kernel is lost
  b.launch(3, 60, 62);
  b.kernel("b", 70, 80, 3);
  b.op("aten::view", 80, 100);
  const BudgetCase c(b);
  const TimeBudget budget = c.budget();
  expect_budget(budget.total, {{compute, 20}, {idle_host, 25}, {not_recorded, 50}});
  const IdlePiece* piece = piece_of(budget.rank(), not_recorded);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->start, Ns{20});
  EXPECT_EQ(c.trace.slices.start[index(piece->culprit)], Ns{20});
}

TEST(NotRecorded, IsTheEndAfterTheLastRowIfItsLaunchesWereLost) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.launch(1, 0, 2);
  b.kernel("a", 5, 15, 1);
  b.launch(2, 30, 32);
  expect_budget(BudgetCase(b).budget().total, {{compute, 10}, {idle_host, 15}, {not_recorded, 70}});
}

// As JAX runs a program: a thread of the runtime launches, the program waits for its results.
TEST(NotRecorded, IsAGapWhileTheProgramWaitsAndTheLaunchingThreadShowsNoRow) {
  TraceBuilder b;
  const TrackId runtime = b.thread(2);
  b.row(runtime, Category::runtime, "cuLaunchKernel", 0, 2, 1);
  b.kernel("a", 5, 10, 1);
  b.row(b.thread(1), Category::python_function, "$api.py:3165 try_to_block", 12, 60);
  b.row(runtime, Category::user_annotation, "ExecuteThunks", 50, 63);
  b.row(runtime, Category::runtime, "cuLaunchKernel", 62, 63, 2);
  b.kernel("b", 64, 70, 2);
  const BudgetCase c(b);
  const TimeBudget budget = c.budget();
  expect_budget(budget.total,
                {{compute, 11}, {idle_host, 14}, {not_recorded, 38}, {idle_launch, 2}});
  const IdlePiece* piece = piece_of(budget.rank(), not_recorded);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(c.trace.name(piece->culprit), "$api.py:3165 try_to_block");
}

TEST(NotRecorded, IsALongGapBetweenNodesOfOneGraphLaunch) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 300 * us);
  b.row(b.thread(1), Category::runtime, "hipGraphLaunch", 0, 300 * us, 1);
  b.kernel("a", 0, 100 * us, 1);
  b.kernel("b", 105 * us, 200 * us, 1);  // as long as a device takes
  b.kernel("c", 250 * us, 300 * us, 1);
  expect_budget(BudgetCase(b).budget().total,
                {{compute, 245 * us}, {idle_launch, 5 * us}, {not_recorded, 50 * us}});
}

TEST(NotRecorded, IsTheWaitOfAStreamForWorkFromBefore) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 1000 * us);
  b.launch(1, 0, 5 * us);
  b.kernel("first of another stream", 10 * us, 20 * us, 1);
  b.launch(2, 30 * us, 35 * us);
  b.row(b.stream(0, 9), Category::kernel, "first of its stream", 900 * us, 1000 * us, 2);
  expect_budget(
      BudgetCase(b).budget().total,
      {{compute, 110 * us}, {idle_host, 10 * us}, {idle_launch, 5 * us}, {not_recorded, 865 * us}});
}

// The event that the stream waits for was recorded before the recording began.
TEST(NotRecorded, IsAWaitForAnEventThatNoCallRecorded) {
  for (const bool recorded : {false, true}) {
    TraceBuilder b;
    b.step("ProfilerStep#0", 0, 1000 * us);
    if (recorded) b.row(b.thread(1), Category::runtime, "cudaEventRecord", 0, 1 * us);
    b.launch(1, 2 * us, 5 * us);
    b.kernel("a", 10 * us, 20 * us, 1);
    b.row(b.thread(1), Category::runtime, "cudaStreamWaitEvent", 22 * us, 24 * us);
    b.launch(2, 30 * us, 35 * us);
    b.kernel("b", 900 * us, 1000 * us, 2);
    const Budget budget = BudgetCase(b).budget().total;
    EXPECT_EQ(budget[not_recorded], recorded ? Ns{0} : Ns{865 * us});
    EXPECT_EQ(budget[idle_launch], recorded ? Ns{870 * us} : Ns{5 * us});
  }
}

}  // namespace
}  // namespace stepscope

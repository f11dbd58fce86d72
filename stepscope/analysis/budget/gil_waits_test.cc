// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/gil_waits.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

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

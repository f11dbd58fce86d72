// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/allocation_retries.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

// One step of 1000 ns with a kernel at its end. The calls come before the kernel.
struct Calls {
  TraceBuilder b;
  Calls() {
    b.step("ProfilerStep#0", 0, 1000);
    b.launch(1, 900, 910);
    b.kernel("gemm", 920, 1000, 1);
  }
  void call(std::string_view name, std::int64_t start, std::int64_t end) {
    b.row(b.thread(1), Category::runtime, name, start, end);
  }
  AllocationRetries found() {
    const Trace trace = b.sealed();
    const RankIndex rank = index_rank(trace);
    return allocation_retries(trace, rank, find_steps(trace, rank));
  }
};

TEST(AllocationRetries, AFailedAllocationFreesAndTriesAgain) {
  Calls c;
  c.b.op("aten::empty", 90, 400);
  c.call("cudaMalloc", 100, 110);
  c.call("cudaStreamSynchronize", 112, 150);
  c.call("cudaFree", 150, 200);
  c.call("cudaFree", 200, 240);
  c.call("cudaMalloc", 250, 300);
  const AllocationRetries found = c.found();
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.after_failure, 1U);
  EXPECT_EQ(found.frees, 2U);
  EXPECT_EQ(found.total, Ns{200});
  EXPECT_EQ(found.worst_at, Ns{100});
}

TEST(AllocationRetries, AnAllocationLongBeforeIsNotTheFailedOne) {
  Calls c;
  c.b.op("aten::cat", 0, 40'000'000);
  c.call("cudaMalloc", 100, 110);
  c.call("cudaFree", 30'000'000, 30'000'100);
  c.call("cudaFree", 30'000'100, 30'000'200);
  c.call("cudaMalloc", 30'000'300, 30'000'400);
  c.b.step("ProfilerStep#1", 1000, 50'000'000);
  const AllocationRetries found = c.found();
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.after_failure, 0U);
  EXPECT_EQ(found.total, Ns{400});
  ASSERT_EQ(found.pauses.size(), 1U);
  EXPECT_EQ(found.pauses.front().start, Ns{910});  // after the launch
  EXPECT_EQ(found.pauses.front().end, Ns{30'000'000});
}

TEST(AllocationRetries, WaitingForBlocksInUseIsPartOfARetry) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 40'000'000);
  for (const auto& [name, start, end] : {std::tuple{"cudaMalloc", 100, 110},
                                         {"cudaEventSynchronize", 120, 30'000'000},
                                         {"cudaFree", 30'000'000, 30'000'100},
                                         {"cudaMalloc", 30'000'300, 30'000'400}})
    b.row(b.thread(1), Category::runtime, name, start, end);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const AllocationRetries found = allocation_retries(trace, rank, find_steps(trace, rank));
  EXPECT_EQ(found.after_failure, 1U);
  EXPECT_TRUE(found.pauses.empty());  // the call that waits has a row
}

TEST(AllocationRetries, LaunchesCountWithoutRowsOfTheDeviceToo) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 1000);
  for (const auto& [name, at] : {std::pair{"cudaMalloc", 100},
                                 {"cudaLaunchKernel", 120},
                                 {"cudaFree", 140},
                                 {"cudaFree", 160},
                                 {"cudaMalloc", 180}})
    b.row(b.thread(1), Category::runtime, name, at, at + 10);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  EXPECT_EQ(allocation_retries(trace, rank, find_steps(trace, rank)).count, 0U);
}

TEST(AllocationRetries, FreesWithinTheOperatorThatAllocatesMakeRoom) {
  Calls c;
  c.b.op("aten::mm", 80, 400);
  c.b.op("aten::empty", 90, 390);
  c.call("cudaFree", 150, 200);
  c.call("cudaFree", 200, 240);
  c.call("cudaMalloc", 250, 300);
  const AllocationRetries found = c.found();
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.after_failure, 0U);
  EXPECT_EQ(found.total, Ns{150});
}

TEST(AllocationRetries, ExpandableSegmentsUnmapAndMapAnew) {
  Calls c;
  c.call("cuMemCreate", 100, 110);
  c.call("cuMemUnmap", 120, 130);
  c.call("cuMemRelease", 130, 140);
  c.call("cuMemCreate", 150, 160);
  c.call("cuMemMap", 160, 165);
  EXPECT_EQ(c.found().count, 1U);
}

TEST(AllocationRetries, WarmingUpOnlyAllocates) {
  Calls c;
  for (std::int64_t i = 0; i < 5; ++i) c.call("cudaMalloc", 100 + 20 * i, 110 + 20 * i);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, EmptyingTheCacheByHandStandsInNoOperator) {
  Calls c;
  c.b.op("DistributedDataParallel.forward", 90, 500);
  c.call("cudaFree", 100, 150);
  c.call("cudaFree", 150, 200);
  c.b.op("aten::empty", 290, 390);
  c.call("cudaMalloc", 300, 350);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, WorkLaunchedBetweenEndsIt) {
  Calls c;
  c.b.op("aten::cat", 90, 500);
  c.call("cudaMalloc", 100, 110);
  c.b.launch(2, 120, 125);
  c.b.kernel("cat", 130, 140, 2);
  c.call("cudaFree", 150, 200);
  c.call("cudaFree", 200, 240);
  c.b.launch(3, 245, 248);
  c.b.kernel("cat", 250, 260, 3);
  c.call("cudaMalloc", 250, 300);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, AContextsFirstFreeStandsAlone) {
  Calls c;
  c.b.op("aten::empty", 90, 400);
  c.call("cudaFree", 100, 300);
  c.call("cudaMalloc", 310, 320);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, PinnedMemoryIsNoDeviceMemory) {
  Calls c;
  c.call("cudaHostAlloc", 100, 110);
  c.call("cudaFreeHost", 120, 130);
  c.call("cudaHostAlloc", 140, 150);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, OutsideTheStepsNothingCounts) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaMalloc", 100, 110);
  b.row(b.thread(1), Category::runtime, "cudaFree", 110, 120);
  b.row(b.thread(1), Category::runtime, "cudaMalloc", 120, 130);
  b.step("ProfilerStep#0", 500, 1000);
  b.launch(1, 600, 610);
  b.kernel("gemm", 620, 900, 1);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  EXPECT_EQ(allocation_retries(trace, rank, find_steps(trace, rank)).count, 0U);
}

}  // namespace
}  // namespace stepscope

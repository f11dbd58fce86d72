// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/allocation_retries.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

// One step of 1 ms with a kernel at its end. The calls come before the kernel.
struct Calls {
  TraceBuilder b;
  Calls() {
    b.step("ProfilerStep#0", 0, 1'000'000);
    b.launch(1, 900'000, 910'000);
    b.kernel("gemm", 920'000, 1'000'000, 1);
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
  c.b.op("aten::empty", 90'000, 400'000);
  c.call("cudaMalloc", 100'000, 110'000);
  c.call("cudaStreamSynchronize", 112'000, 150'000);
  c.call("cudaFree", 150'000, 200'000);
  c.call("cudaFree", 200'000, 240'000);
  c.call("cudaMalloc", 250'000, 300'000);
  const AllocationRetries found = c.found();
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.after_failure, 1U);
  EXPECT_EQ(found.frees, 2U);
  EXPECT_EQ(found.total, Ns{200'000});
  EXPECT_EQ(found.worst_at, Ns{100'000});
}

TEST(AllocationRetries, AnAllocationLongBeforeIsNotTheFailedOne) {
  Calls c;
  c.b.op("aten::cat", 0, 40'000'000'000);
  c.call("cudaMalloc", 100'000, 110'000);
  c.call("cudaFree", 30'000'000'000, 30'000'100'000);
  c.call("cudaFree", 30'000'100'000, 30'000'200'000);
  c.call("cudaMalloc", 30'000'300'000, 30'000'400'000);
  c.b.step("ProfilerStep#1", 1'000'000, 50'000'000'000);
  const AllocationRetries found = c.found();
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.after_failure, 0U);
  EXPECT_EQ(found.total, Ns{400'000});
  ASSERT_EQ(found.pauses.size(), 1U);
  EXPECT_EQ(found.pauses.front().start, Ns{910'000});  // after the launch
  EXPECT_EQ(found.pauses.front().end, Ns{30'000'000'000});
}

TEST(AllocationRetries, WaitingForBlocksInUseIsPartOfARetry) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 40'000'000'000);
  for (const auto& [name, start, end] :
       {std::tuple<const char*, std::int64_t, std::int64_t>{"cudaMalloc", 100'000, 110'000},
        {"cudaEventSynchronize", 120'000, 30'000'000'000},
        {"cudaFree", 30'000'000'000, 30'000'100'000},
        {"cudaMalloc", 30'000'300'000, 30'000'400'000}})
    b.row(b.thread(1), Category::runtime, name, start, end);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const AllocationRetries found = allocation_retries(trace, rank, find_steps(trace, rank));
  EXPECT_EQ(found.after_failure, 1U);
  EXPECT_TRUE(found.pauses.empty());  // the call that waits has a row
}

TEST(AllocationRetries, LaunchesCountWithoutRowsOfTheDeviceToo) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 1'000'000);
  for (const auto& [name, at] : {std::pair{"cudaMalloc", 100'000},
                                 {"cudaLaunchKernel", 120'000},
                                 {"cudaFree", 140'000},
                                 {"cudaFree", 160'000},
                                 {"cudaMalloc", 180'000}})
    b.row(b.thread(1), Category::runtime, name, at, at + 10'000);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  EXPECT_EQ(allocation_retries(trace, rank, find_steps(trace, rank)).count, 0U);
}

TEST(AllocationRetries, FreesWithinTheOperatorThatAllocatesMakeRoom) {
  Calls c;
  c.b.op("aten::mm", 80'000, 400'000);
  c.b.op("aten::empty", 90'000, 390'000);
  c.call("cudaFree", 150'000, 200'000);
  c.call("cudaFree", 200'000, 240'000);
  c.call("cudaMalloc", 250'000, 300'000);
  const AllocationRetries found = c.found();
  EXPECT_EQ(found.count, 1U);
  EXPECT_EQ(found.after_failure, 0U);
  EXPECT_EQ(found.total, Ns{150'000});
}

TEST(AllocationRetries, ExpandableSegmentsUnmapAndMapAnew) {
  Calls c;
  c.call("cuMemCreate", 100'000, 110'000);
  c.call("cuMemUnmap", 120'000, 130'000);
  c.call("cuMemRelease", 130'000, 140'000);
  c.call("cuMemCreate", 150'000, 160'000);
  c.call("cuMemMap", 160'000, 165'000);
  EXPECT_EQ(c.found().count, 1U);
}

TEST(AllocationRetries, WarmingUpOnlyAllocates) {
  Calls c;
  for (std::int64_t i = 0; i < 5; ++i) c.call("cudaMalloc", 100 + 20 * i, 110 + 20 * i);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, EmptyingTheCacheByHandStandsInNoOperator) {
  Calls c;
  c.b.op("DistributedDataParallel.forward", 90'000, 500'000);
  c.call("cudaFree", 100'000, 150'000);
  c.call("cudaFree", 150'000, 200'000);
  c.b.op("aten::empty", 290'000, 390'000);
  c.call("cudaMalloc", 300'000, 350'000);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, WorkLaunchedBetweenEndsIt) {
  Calls c;
  c.b.op("aten::cat", 90'000, 500'000);
  c.call("cudaMalloc", 100'000, 110'000);
  c.b.launch(2, 120'000, 125'000);
  c.b.kernel("cat", 130'000, 140'000, 2);
  c.call("cudaFree", 150'000, 200'000);
  c.call("cudaFree", 200'000, 240'000);
  c.b.launch(3, 245'000, 248'000);
  c.b.kernel("cat", 250'000, 260'000, 3);
  c.call("cudaMalloc", 250'000, 300'000);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, AContextsFirstFreeStandsAlone) {
  Calls c;
  c.b.op("aten::empty", 90'000, 400'000);
  c.call("cudaFree", 100'000, 300'000);
  c.call("cudaMalloc", 310'000, 320'000);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, AFreeThatReturnsAtOnceFreedNothing) {
  Calls c;
  c.b.op("aten::cudnn_convolution", 90'000, 400'000);
  c.call("cudaMalloc", 100'000, 110'000);
  c.call("cudaFree", 150'000, 150'500);
  c.call("cudaFree", 160'000, 160'500);
  c.call("cudaMalloc", 250'000, 300'000);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, WhereResultsAreKnownOneHasFailed) {
  for (const bool fails : {true, false}) {
    Calls c;
    c.b.trace().metadata.texts.emplace(call_results_key, "1");
    c.b.op("aten::empty", 90'000, 400'000);
    c.call(fails ? "cudaMalloc (failed)" : "cudaMalloc", 100'000, 110'000);
    c.call("cudaFree", 150'000, 200'000);
    c.call("cudaFree", 200'000, 240'000);
    c.call("cudaMalloc", 250'000, 300'000);
    EXPECT_EQ(c.found().count, fails ? 1U : 0U);
  }
}

TEST(AllocationRetries, PinnedMemoryIsNoDeviceMemory) {
  Calls c;
  c.call("cudaHostAlloc", 100'000, 110'000);
  c.call("cudaFreeHost", 120'000, 130'000);
  c.call("cudaHostAlloc", 140'000, 150'000);
  EXPECT_EQ(c.found().count, 0U);
}

TEST(AllocationRetries, OutsideTheStepsNothingCounts) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaMalloc", 100'000, 110'000);
  b.row(b.thread(1), Category::runtime, "cudaFree", 110'000, 120'000);
  b.row(b.thread(1), Category::runtime, "cudaMalloc", 120'000, 130'000);
  b.step("ProfilerStep#0", 500'000, 1'000'000);
  b.launch(1, 600'000, 610'000);
  b.kernel("gemm", 620'000, 900'000, 1);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  EXPECT_EQ(allocation_retries(trace, rank, find_steps(trace, rank)).count, 0U);
}

}  // namespace
}  // namespace stepscope

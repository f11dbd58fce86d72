// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/time_budget.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "stepscope/analysis/budget/budget_test_builder.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

constexpr std::string_view all_reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

TEST(TimeBudget, WorkIsExclusiveAcrossStreams) {
  TraceBuilder b;
  const TrackId nccl = b.stream(0, 20);
  const TrackId copies = b.stream(0, 30);
  b.kernel("gemm", 0, 100);
  b.row(nccl, Category::kernel, all_reduce, 60, 160);
  b.row(copies, Category::memcpy, "Memcpy HtoD (Pinned -> Device)", 90, 200);
  b.row(copies, Category::memset, "Memset (Device)", 200, 210);
  const BudgetCase c(b);
  expect_budget(
      c.budget().total,
      {{compute, 60}, {comm_overlapped, 40}, {comm_exposed_unsplit, 60}, {copy_exposed, 50}});
}

// A kernel that waits is no work: what the host did counts, then waiting.
TEST(TimeBudget, WaitingKernelsAreIdleTime) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 300);
  b.launch(1, 0, 5);
  b.launch(2, 6, 8);
  b.launch(3, 120, 125);
  b.kernel("gemm", 10, 50, 1);
  b.row(b.stream(0, 9), Category::kernel, "nvshmemi_barrier_all_kernel", 40, 200, 2);
  b.kernel("gemm", 200, 290, 3);
  const BudgetCase c(b);
  const Budget total = c.budget().total;
  EXPECT_EQ(total[compute], Ns{40 + 90});
  EXPECT_EQ(total[idle_dependency], Ns{200 - 120});
  EXPECT_EQ(total[comm_overlapped] + total[comm_exposed_unsplit], Ns{0});
  EXPECT_EQ(total.sum(), c.steps[0].end - c.steps[0].start);
  const TimeBudget budget = c.budget();
  Ns sum{};
  for (const BudgetPiece& piece : budget_pieces(c.trace, c.rank, c.steps, {}, budget.rank()))
    sum += piece.end - piece.start;
  EXPECT_EQ(sum, total.sum());
}

TEST(TimeBudget, CommunicationAloneWaitsUntilAnyOfItTransfers) {
  TraceBuilder b;
  b.row(b.stream(0, 20), Category::kernel, "ncclDevKernel_AllReduce_a", 0, 100);
  b.row(b.stream(0, 21), Category::kernel, "ncclDevKernel_AllReduce_b", 20, 90);
  const BudgetCase c(b);
  const SliceId first = find_slice(c.trace, "ncclDevKernel_AllReduce_a");
  const SliceId second = find_slice(c.trace, "ncclDevKernel_AllReduce_b");
  ASSERT_LT(index(first), index(second));
  const CommSplit both{{{first, Ns{80}, true}, {second, Ns{40}, true}}};
  expect_budget(c.budget(both).total, {{comm_exposed_wait, 40}, {comm_exposed_transfer, 60}});
  const CommSplit one{{{first, Ns{80}, true}, {second, Ns{40}, false}}};
  expect_budget(c.budget(one).total,
                {{comm_exposed_wait, 20}, {comm_exposed_unsplit, 60}, {comm_exposed_transfer, 20}});
}

TEST(TimeBudget, ATransferStartOutsideTheOperationIsClamped) {
  TraceBuilder b;
  b.kernel("ncclDevKernel_AllReduce", 10, 50);
  const BudgetCase c(b);
  const SliceId op = find_slice(c.trace, "ncclDevKernel_AllReduce");
  expect_budget(c.budget({{{op, Ns{0}, true}}}).total, {{comm_exposed_transfer, 40}});
  expect_budget(c.budget({{{op, Ns{99}, true}}}).total, {{comm_exposed_wait, 40}});
}

TEST(TimeBudget, ACollectiveOfOneRankIsTransfer) {
  TraceBuilder b;
  Collective alone;
  alone.slice = b.row(b.stream(0, 7), Category::kernel, all_reduce, 0, 30);
  alone.group_size = 1;
  b.trace().collectives.push_back(alone);
  expect_budget(BudgetCase(b).budget().total, {{comm_exposed_transfer, 30}});
}

TEST(TimeBudget, AGapIsHostTimeUntilTheLaunchAndLaunchTimeAfterIt) {
  TraceBuilder b;
  b.launch(1, 0, 5);
  b.kernel("a", 10, 20, 1);
  b.launch(2, 50, 56);
  b.kernel("b", 60, 70, 2);
  const BudgetCase c(b);
  const TimeBudget budget = c.budget();
  expect_budget(budget.total, {{compute, 20}, {idle_host, 30}, {idle_launch, 10}});
  const IdlePiece* host = piece_of(budget.rank(), idle_host);
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->start, Ns{20});
  EXPECT_EQ(host->end, Ns{50});
  EXPECT_EQ(c.trace.name(host->delayed), "b");
}

TEST(TimeBudget, AQueuedKernelsGapIsLaunchTimeAndAnImpossibleLaunchIsHostTime) {
  TraceBuilder b;
  b.launch(1, 0, 2);
  b.launch(2, 2, 4);
  b.launch(3, 95, 99);
  b.kernel("a", 10, 20, 1);
  b.kernel("queued", 23, 30, 2);
  b.kernel("before its launch", 90, 100, 3);
  expect_budget(BudgetCase(b).budget().total, {{compute, 27}, {idle_launch, 3}, {idle_host, 60}});
}

TEST(TimeBudget, TheHostPartIsDividedByWhatTheLaunchingThreadDid) {
  TraceBuilder b;
  b.launch(1, 0, 2);
  b.kernel("a", 5, 10, 1);
  b.row(b.thread(1), Category::runtime, "cudaStreamSynchronize", 6, 25);
  b.row(b.thread(1), Category::user_annotation,
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30, 50);
  b.row(b.thread(1), Category::runtime, "cudaEventSynchronize", 40, 48);  // inside the loader
  b.launch(2, 60, 62);
  b.kernel("b", 64, 70, 2);
  const BudgetCase c(b);
  const TimeBudget budget = c.budget();
  expect_budget(
      budget.total,
      {{compute, 11}, {idle_sync, 15}, {idle_data, 20}, {idle_host, 15}, {idle_launch, 4}});
  const IdlePiece* sync = piece_of(budget.rank(), idle_sync);
  ASSERT_NE(sync, nullptr);
  EXPECT_EQ(c.trace.name(sync->culprit), "cudaStreamSynchronize");
}

TEST(TimeBudget, OnlyABlockingCopyIsASync) {
  TraceBuilder b;
  b.launch(1, 0, 2);
  b.kernel("a", 5, 10, 1);
  const TrackId thread = b.thread(1);
  const TrackId copies = b.stream(0, 8);
  b.row(thread, Category::runtime, "cudaMemcpyAsync", 9, 30, 2);
  b.row(copies, Category::memcpy, "Memcpy DtoH (Device -> Pageable)", 10, 20, 2);
  b.row(thread, Category::runtime, "cudaMemcpyAsync", 30, 60, 3);
  b.row(copies, Category::memcpy, "Memcpy HtoD (Pinned -> Device)", 32, 40, 3);
  b.launch(4, 70, 71);
  b.kernel("b", 71, 75, 4);
  expect_budget(
      BudgetCase(b).budget().total,
      {{compute, 9}, {copy_exposed, 18}, {idle_sync, 10}, {idle_launch, 3}, {idle_host, 30}});
}

// A copy of pageable memory to the device waits for its stream, and its call may return before it
// has ended. A small one is queued: its call has returned when it begins.
TEST(TimeBudget, ACopyOfPageableMemoryToTheDeviceBlocks) {
  TraceBuilder b;
  const TrackId thread = b.thread(1);
  b.launch(1, 0, 2);
  b.kernel("a", 5, 10, 1);
  b.row(thread, Category::runtime, "cudaMemcpyAsync", 9, 30, 2);
  b.row(b.stream(0, 7), Category::memcpy, "Memcpy HtoD (Pageable -> Device)", 20, 32, 2);
  b.row(thread, Category::runtime, "cudaMemcpyAsync", 34, 40, 3);
  b.row(b.stream(0, 7), Category::memcpy, "Memcpy HtoD (Pageable -> Device)", 42, 44, 3);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const auto sync = host_waits(trace, rank)[index(*rank.main_track)].sync;
  ASSERT_EQ(sync.size(), 1U);
  EXPECT_EQ(sync.front().start, Ns{9});
  EXPECT_EQ(sync.front().end, Ns{30});
}

TEST(TimeBudget, BeforeItWakesTheBackwardThreadWaitsForWhatTheMainThreadDoes) {
  TraceBuilder b;
  const TrackId backward = b.thread(2);
  b.step("ProfilerStep#0", 0, 100);
  b.launch(1, 0, 2);
  b.kernel("a", 10, 20, 1);
  b.row(b.thread(1), Category::runtime, "cudaDeviceSynchronize", 15, 40);
  b.row(backward, Category::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 50, 80);
  b.row(backward, Category::runtime, "cudaLaunchKernel", 60, 62, 2);
  b.kernel("b", 65, 100, 2);
  expect_budget(BudgetCase(b).budget().total,
                {{compute, 45}, {idle_sync, 20}, {idle_host, 20}, {idle_launch, 5}});
}

TEST(TimeBudget, WithoutALaunchRowAGapStaysUnexplained) {
  TraceBuilder b;
  b.kernel("a", 0, 10);
  b.kernel("b", 25, 30);
  expect_budget(BudgetCase(b).budget().total, {{compute, 15}, {idle_unexplained, 15}});
}

TEST(TimeBudget, AfterTheLastOperationTheMainThreadTells) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.launch(1, 0, 2);
  b.kernel("a", 10, 20, 1);
  b.row(b.thread(1), Category::runtime, "cudaStreamSynchronize", 12, 30);
  expect_budget(BudgetCase(b).budget().total, {{compute, 10}, {idle_sync, 10}, {idle_host, 70}});
}

// A step of the job lasts from the first rank's begin to the last rank's end.
TEST(TimeBudget, OutsideTheRowsOfTheRankNothingIsRecorded) {
  TraceBuilder b;
  b.op("aten::mm", 40, 48);
  b.launch(1, 45, 47);
  b.kernel("a", 50, 60, 1);
  BudgetCase c(b);
  c.steps = {Step{.start = Ns{0}, .end = Ns{100}}};
  const TimeBudget budget = time_budget(c.trace, c.rank, c.steps, {}, {Ns{40}, Ns{70}});
  expect_budget(budget.total, {{compute, 10},
                               {idle_host, 5},
                               {idle_launch, 5},
                               {idle_unexplained, 10},
                               {not_recorded, 70}});
}

TEST(TimeBudget, AGapAtAStepsEndBelongsToTheOperationThatFollowsIt) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("ProfilerStep#1", 100, 200);
  b.launch(1, 5, 6);
  b.kernel("a", 10, 20, 1);
  b.launch(2, 130, 132);
  b.kernel("b", 140, 200, 2);
  const TimeBudget budget = BudgetCase(b).budget();
  ASSERT_EQ(budget.rank().steps.size(), 2u);
  expect_budget(budget.rank().steps[0], {{compute, 10}, {idle_host, 110}, {idle_launch, 10}});
  expect_budget(budget.rank().steps[1], {{compute, 60}});
}

// A kernel on stream 7 that waits for an event recorded behind a kernel on stream 20.
TraceBuilder waiting_stream(std::int64_t launched) {
  TraceBuilder b;
  const TrackId thread = b.thread(1);
  b.row(thread, Category::runtime, "cudaLaunchKernel", 0, 1, 1);
  b.row(thread, Category::runtime, "cudaEventRecord", 2, 3, 2);
  b.row(thread, Category::runtime, "cudaStreamWaitEvent", 4, 5, 3);
  b.row(thread, Category::runtime, "cudaLaunchKernel", launched, launched + 2, 4);
  b.row(b.stream(0, 20), Category::kernel, all_reduce, 10, 50, 1);
  const SliceId wait = b.row(b.stream(0, 7), Category::sync, "Stream Wait Event", 4, 5, 3);
  SyncDetails& syncs = b.trace().syncs;
  syncs.stream.push_back(7);
  syncs.wait_on_stream.push_back(20);
  syncs.wait_on_record_correlation.push_back(2);
  b.trace().slices.detail[index(wait)] = 0;
  b.kernel("gemm", 65, 100, 4);
  return b;
}

TEST(TimeBudget, AStreamThatIsProvenToWaitForAnothersEventDependsOnItsProducer) {
  TraceBuilder b = waiting_stream(20);
  const BudgetCase c(b);
  const TimeBudget budget = c.budget();
  expect_budget(budget.total, {{compute, 35}, {comm_exposed_unsplit, 40}, {idle_dependency, 15}});
  const IdlePiece* piece = piece_of(budget.rank(), idle_dependency);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(c.trace.name(piece->culprit), all_reduce);
}

TEST(TimeBudget, ALaunchAfterTheProducerEndedDependsOnNothing) {
  TraceBuilder b = waiting_stream(60);
  expect_budget(BudgetCase(b).budget().total,
                {{compute, 35}, {comm_exposed_unsplit, 40}, {idle_host, 10}, {idle_launch, 5}});
}

TEST(TimeBudget, WithoutSyncRowsNoDependencyIsInferred) {
  TraceBuilder b;
  b.launch(1, 0, 1);
  b.launch(2, 2, 3);
  b.row(b.stream(0, 20), Category::kernel, all_reduce, 10, 50, 1);
  b.kernel("gemm", 65, 100, 2);
  expect_budget(BudgetCase(b).budget().total,
                {{compute, 35}, {comm_exposed_unsplit, 40}, {idle_launch, 15}});
}

TEST(TimeBudget, TheRanksBudgetIsThatOfItsBusiestGpu) {
  TraceBuilder b;
  b.row(b.stream(0, 7), Category::kernel, "gemm", 0, 10);
  b.row(b.stream(1, 7), Category::kernel, "gemm", 0, 90);
  b.row(b.stream(0, 7), Category::kernel, "gemm", 95, 100);
  const TimeBudget budget = BudgetCase(b).budget();
  ASSERT_EQ(budget.devices.size(), 2u);
  EXPECT_EQ(budget.rank().device, 1);
  expect_budget(budget.total, {{compute, 90}, {idle_unexplained, 10}});
}

TEST(TimeBudget, AKernelWithoutLengthNeitherWorksNorEndsAGap) {
  TraceBuilder b;
  b.kernel("a", 0, 10, 0);
  b.kernel("nothing", 15, 15, 0);
  b.launch(2, 20, 21);
  b.kernel("b", 30, 40, 2);
  expect_budget(BudgetCase(b).budget().total, {{compute, 20}, {idle_host, 10}, {idle_launch, 10}});
}

TEST(TimeBudget, NoStepsNoBudget) {
  TraceBuilder b;
  EXPECT_TRUE(BudgetCase(b).budget().devices.empty());
}

TEST(TimeBudget, AHostThatShowsOnlyCallsIsUnknownWhereItMakesNone) {
  constexpr std::int64_t ms = 1'000'000;
  for (const bool shown : {false, true}) {
    TraceBuilder b;
    b.launch(1, 0, 1 * ms);
    b.kernel("k", 1 * ms, 2 * ms, 1);
    if (shown) b.op("aten::mm", 2 * ms, 3 * ms);
    b.row(b.thread(1), Category::runtime, "cudaMalloc", 3 * ms, 5 * ms);
    b.launch(2, 900 * ms, 901 * ms);
    b.kernel("k", 901 * ms, 902 * ms, 2);
    const Budget total = BudgetCase(b).budget().total;
    EXPECT_EQ(total[idle_unexplained], Ns{shown ? 0 : 896 * ms});
    EXPECT_EQ(total[idle_host], Ns{shown ? 898 * ms : 2 * ms});
  }
}

TEST(CpuBudget, OperatorsComputeAndCollectivesElsewhereOverlap) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::linear", 10, 40);
  b.op("aten::addmm", 15, 35);
  b.row(b.thread(2), Category::user_annotation, "gloo:all_reduce", 30, 60);
  expect_budget(
      BudgetCase(b).budget().total,
      {{compute, 20}, {comm_overlapped, 10}, {comm_exposed_unsplit, 20}, {idle_host, 50}});
}

TEST(CpuBudget, NodesAndRangesComputeOnlyWhereTheyCallNothing) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("backward", 0, 90);  // a range, as legacy traces show it
  b.op("autograd::engine::evaluate_function: AddmmBackward0", 10, 50);
  b.op("AddmmBackward0", 12, 48);
  b.op("aten::mm", 20, 40);
  b.op("aten::resolve_conj", 21, 22);
  b.op("cpp_fused_add_0", 60, 70);
  expect_budget(BudgetCase(b).budget().total, {{compute, 30}, {idle_host, 70}});
}

TEST(CpuBudget, ASynchronisingCallOfATraceWithoutDeviceRowsIsASync) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.row(b.thread(1), Category::runtime, "cudaDeviceSynchronize", 10, 40);
  expect_budget(BudgetCase(b).budget().total, {{idle_sync, 30}, {not_recorded, 70}});
}

TEST(CpuBudget, TheMainThreadBlockedInACollectiveCommunicatesWhateverItCalls) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("c10d::allreduce_", 10, 40);
  b.op("aten::copy_", 15, 35);
  b.op("aten::mm", 40, 50);
  expect_budget(BudgetCase(b).budget().total,
                {{compute, 10}, {comm_exposed_unsplit, 30}, {idle_host, 60}});
}

TEST(CpuBudget, OperatorsOfATraceWhoseDeviceWasNotRecordedAreNoCompute) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::mm", 10, 40);
  b.launch(1, 20, 25);
  b.row(b.thread(1), Category::runtime, "cudaDeviceSynchronize", 50, 70);
  const BudgetCase c(b);
  EXPECT_TRUE(c.rank.device_unseen());
  expect_budget(c.budget().total, {{not_recorded, 80}, {idle_sync, 20}});
}

TEST(CpuBudget, ASplitCollectiveInFlightWaitsThenTransfers) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.row(b.thread(2), Category::user_annotation, "gloo:all_reduce", 20, 60);
  const BudgetCase c(b);
  const SliceId flight = find_slice(c.trace, "gloo:all_reduce");
  expect_budget(c.budget({{{flight, Ns{50}, true}}}).total,
                {{comm_exposed_wait, 30}, {comm_exposed_transfer, 10}, {idle_host, 60}});
}

TEST(CpuBudget, AMessageInFlightDoesNotHoldTheThreadThatPostedIt) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("c10d::send", 10, 12);
  b.row(b.thread(1), Category::user_annotation, "gloo:send", 11, 60);
  b.op("aten::mm", 20, 40);
  const BudgetCase c(b);
  expect_budget(c.budget().total,
                {{comm_overlapped, 20}, {comm_exposed_unsplit, 30}, {idle_host, 50}});
  // It had come at 50 and was collected at 60. Before 11 the thread posts it.
  const SliceId flight = find_slice(c.trace, "gloo:send");
  expect_budget(c.budget({{{flight, Ns{45}, true, Ns{50}}}}).total, {{comm_overlapped, 20},
                                                                     {comm_exposed_wait, 14},
                                                                     {comm_exposed_transfer, 5},
                                                                     {comm_exposed_unsplit, 1},
                                                                     {idle_host, 60}});
}

TEST(CpuBudget, TheBackwardThreadComputesWhileTheMainOneWaitsForIt) {
  TraceBuilder b;
  const TrackId backward = b.thread(2);
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::mul", 0, 10);
  b.row(backward, Category::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 20, 60);
  b.row(backward, Category::cpu_op, "aten::mm", 25, 55);
  b.row(b.thread(3), Category::cpu_op, "aten::stack", 70, 90);  // some worker
  expect_budget(BudgetCase(b).budget().total, {{compute, 40}, {idle_host, 60}});
}

TEST(CpuBudget, WhatRunsInsideALoaderIsData) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, 50);
  b.op("aten::stack", 20, 30);
  b.op("aten::mm", 60, 70);
  const TimeBudget budget = BudgetCase(b).budget();
  expect_budget(budget.total, {{compute, 10}, {idle_data, 40}, {idle_host, 50}});
  ASSERT_EQ(budget.rank().idle.size(), 4u) << "neighbouring pieces of one cause are one";
}

// The brute-force oracle: the category of each nanosecond, from the rows alone.
struct RandomRow {
  std::size_t kind;  // 0 compute, 1 communication, 2 copy
  std::int64_t start, end, launch, transfer;
  bool split;
};

BudgetCategory category_at(const std::vector<RandomRow>& rows, std::int64_t t) {
  bool any[3] = {};
  bool transfers = false;
  bool unknown = false;
  for (const RandomRow& row : rows) {
    if (t < row.start || t >= row.end) continue;
    any[row.kind] = true;
    if (row.kind != 1) continue;
    if (!row.split) unknown = true;
    if (row.split && t >= row.transfer) transfers = true;
  }
  if (any[0]) return any[1] ? comm_overlapped : compute;
  if (any[1])
    return transfers ? comm_exposed_transfer : unknown ? comm_exposed_unsplit : comm_exposed_wait;
  if (any[2]) return copy_exposed;
  const RandomRow* next = nullptr;
  for (const RandomRow& row : rows)
    if (row.start > t && (next == nullptr || row.start < next->start)) next = &row;
  if (next == nullptr) return idle_host;  // the step has only its annotation
  if (next->launch < 0) return idle_unexplained;
  return t < next->launch ? idle_host : idle_launch;
}

TEST(TimeBudget, AgreesWithACountOfEveryNanosecond) {
  std::mt19937 random(11);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  for (int round = 0; round < 200; ++round) {
    TraceBuilder b;
    b.step("ProfilerStep#0", 0, 400);
    std::vector<RandomRow> rows;
    CommSplit split;
    std::map<std::int64_t, bool> starts;
    for (std::uint32_t i = 0; i < 12; ++i) {
      RandomRow row{};
      row.kind = static_cast<std::size_t>(upto(3));
      row.start = 5 + upto(390);
      if (!starts.try_emplace(row.start).second) continue;  // the next operation is then unique
      row.end = row.start + 1 + upto(60);
      row.launch = upto(4) == 0 ? -1 : std::max<std::int64_t>(0, row.start - upto(30));
      row.transfer = row.start + upto(60);
      row.split = upto(2) == 0;
      rows.push_back(row);
      if (row.launch >= 0) b.launch(i + 1, row.launch, row.launch);
      const std::array<Category, 3> category = {Category::kernel, Category::kernel,
                                                Category::memcpy};
      const std::string name =
          std::array<std::string, 3>{"gemm", "ncclDevKernel_x", "Memcpy DtoD"}[row.kind] +
          std::to_string(i);
      b.row(b.stream(0, i % 3), category[row.kind], name, row.start, row.end,
            row.launch >= 0 ? i + 1 : 0);
    }
    const BudgetCase c(b);
    for (const RandomRow& row : rows) {
      if (row.kind != 1) continue;
      for (std::uint32_t s = 0; s < c.trace.slices.size(); ++s) {
        if (c.trace.slices.category[s] == Category::kernel &&
            c.trace.slices.start[s] == Ns{row.start})
          split.spans.push_back({SliceId{s}, Ns{row.transfer}, row.split});
      }
    }
    std::sort(split.spans.begin(), split.spans.end(),
              [](const CommSpan& x, const CommSpan& y) { return index(x.slice) < index(y.slice); });
    ASSERT_EQ(c.steps.size(), 1u);
    const TimeBudget budget = c.budget(split);
    Budget expected;
    for (std::int64_t t = c.steps[0].start.count(); t < c.steps[0].end.count(); ++t)
      expected[category_at(rows, t)] += Ns{1};
    for (std::size_t k = 0; k < budget_category_count; ++k)
      ASSERT_EQ(budget.total.time[k], expected.time[k])
          << budget_category_names[k] << " in round " << round;
    ASSERT_EQ(budget.total.sum(), c.steps[0].end - c.steps[0].start);
    expect_pieces(c, split, [&](std::int64_t t) { return category_at(rows, t); });
    if (HasFatalFailure()) return;
  }
}

// The activity of the main thread of a CPU-only step at t, from the rows alone: 0 operator, 1
// collective elsewhere, 2 loader, 3 communication operator of the main thread.
struct CpuRow {
  std::size_t kind;
  std::int64_t start, end;
};

BudgetCategory cpu_category_at(const std::vector<CpuRow>& rows, std::int64_t t) {
  bool any[4] = {};
  for (const CpuRow& row : rows)
    if (t >= row.start && t < row.end) any[row.kind] = true;
  if (any[2]) return idle_data;
  if (any[0] && !any[3]) return any[1] ? comm_overlapped : compute;
  return any[1] || any[3] ? comm_exposed_unsplit : idle_host;
}

TEST(CpuBudget, AgreesWithACountOfEveryNanosecond) {
  std::mt19937 random(13);
  constexpr std::array<std::string_view, 4> names = {
      "aten::mm", "gloo:all_reduce", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
      "c10d::allreduce_"};
  for (int round = 0; round < 200; ++round) {
    TraceBuilder b;
    b.step("ProfilerStep#0", 0, 300);
    std::vector<CpuRow> rows;
    for (std::uint32_t i = 0; i < 15; ++i) {
      const std::size_t kind = random() % names.size();
      const std::int64_t start = static_cast<std::int64_t>(random() % 300);
      const std::int64_t end =
          std::min<std::int64_t>(300, start + 1 + static_cast<std::int64_t>(random() % 40));
      rows.push_back({kind, start, end});
      const Category category =
          kind == 0 || kind == 3 ? Category::cpu_op : Category::user_annotation;
      b.row(b.thread(kind == 1 ? 2 : 1), category, names[kind], start, end);
    }
    const BudgetCase c(b);
    const TimeBudget budget = c.budget();
    Budget expected;
    for (std::int64_t t = 0; t < 300; ++t) expected[cpu_category_at(rows, t)] += Ns{1};
    for (std::size_t k = 0; k < budget_category_count; ++k)
      ASSERT_EQ(budget.total.time[k], expected.time[k])
          << budget_category_names[k] << " in round " << round;
    expect_pieces(c, {}, [&](std::int64_t t) { return cpu_category_at(rows, t); });
    if (HasFatalFailure()) return;
  }
}

TEST(GpuWindow, CountsUnionsOverStreamsOnce) {
  TraceBuilder b;
  b.kernel("gemm", 100, 200);
  b.row(b.stream(0, 8), Category::kernel, "gemm", 150, 260);  // overlaps on another stream
  b.row(b.stream(0, 20), Category::kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 180, 300);
  b.row(b.stream(0, 20), Category::memcpy, "Memcpy HtoD (Pinned -> Device)", 290, 310);
  b.row(b.stream(0, 7), Category::memset, "Memset (Device)", 400, 410);
  b.row(b.stream(0, 7), Category::sync, "Event Sync", 310, 400);
  const Trace trace = b.sealed();
  const auto windows = gpu_windows(trace, index_rank(trace));
  ASSERT_EQ(windows.size(), 1u);
  const GpuWindow& w = windows[0];
  EXPECT_EQ(w.device, 0);
  EXPECT_EQ(w.start, Ns{100});
  EXPECT_EQ(w.end, Ns{410});
  EXPECT_EQ(w.compute, Ns{160});
  EXPECT_EQ(w.comm, Ns{120});
  EXPECT_EQ(w.copy, Ns{30});
  EXPECT_EQ(w.overlap, Ns{80});
  EXPECT_EQ(w.busy, Ns{220});
  EXPECT_EQ(w.idle, Ns{90}) << "a sync row is no work";
  EXPECT_EQ(w.busy + w.idle, w.end - w.start);
}

TEST(GpuWindow, EachGpuHasItsOwn) {
  TraceBuilder b;
  b.row(b.stream(0, 7), Category::kernel, "gemm", 0, 10);
  b.row(b.stream(1, 7), Category::kernel, "gemm", 5, 25);
  const Trace trace = b.sealed();
  const auto windows = gpu_windows(trace, index_rank(trace));
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].compute, Ns{10});
  EXPECT_EQ(windows[1].compute, Ns{20});
  EXPECT_EQ(windows[1].start, Ns{5});
}

TEST(GpuWindow, ACpuOnlyTraceHasNone) {
  TraceBuilder b;
  b.op("aten::mm", 0, 10);
  const Trace trace = b.sealed();
  EXPECT_TRUE(gpu_windows(trace, index_rank(trace)).empty());
}

}  // namespace

}  // namespace stepscope

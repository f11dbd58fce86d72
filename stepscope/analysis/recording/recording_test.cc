// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/recording/recording.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

RankRecording of(TraceBuilder& b) {
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  return recording_of(trace, rank, find_steps(trace, rank));
}

TEST(Recording, CountsRowsLaunchesAndDeviceRowsByStep) {
  TraceBuilder b;
  b.step("ProfilerStep#4", 0, 100);
  b.op("aten::mm", 1, 9);
  b.launch(1, 2, 3);
  b.kernel("a", 10, 20, 1);
  b.launch(2, 30, 31);
  b.step("ProfilerStep#5", 100, 200);
  b.launch(3, 110, 111);
  b.kernel("b", 120, 130, 3);
  b.kernel("from before", 5, 8);
  const RankRecording r = of(b);
  EXPECT_EQ(r.of(Category::cpu_op), 1u);
  EXPECT_EQ(r.of(Category::kernel), 3u);
  EXPECT_EQ(r.launches, 3u);
  EXPECT_EQ(r.lost_launches, 1u);
  EXPECT_EQ(r.device_rows, 3u);
  EXPECT_EQ(r.loose_rows, 1u);
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[0].index, 4);
  EXPECT_EQ(r.steps[0].launches, 2u);
  EXPECT_EQ(r.steps[0].lost_launches, 1u);
  EXPECT_EQ(r.steps[0].device_rows, 1u);
  EXPECT_EQ(r.steps[1].lost_launches, 0u);
  EXPECT_TRUE(r.pytorch);
  EXPECT_FALSE(r.tensorflow);
}

TEST(Recording, OperatorsOfAGpuShowThatThereWasOne) {
  TraceBuilder b;
  b.op("aten::cudnn_is_acceptable", 0, 1);
  b.op("aten::add", 1, 2);
  EXPECT_FALSE(of(b).without_gpu_rows());
  TraceBuilder gpu;
  gpu.op("aten::cudnn_convolution", 0, 1);
  EXPECT_TRUE(of(gpu).without_gpu_rows());
  TraceBuilder called;
  called.op("aten::cudnn_convolution", 0, 4);
  called.launch(1, 2, 3);
  EXPECT_FALSE(of(called).without_gpu_rows());
}

TEST(Recording, IsOfTensorFlowWhereItsExecutorRuns) {
  TraceBuilder b;
  b.row(b.thread(1), Category::user_annotation, "ExecutorState::Process", 0, 4);
  EXPECT_TRUE(of(b).tensorflow);
}

TEST(Recording, LaunchesBehindAllOthersAreQueuedIfTheDeviceWasBusy) {
  const auto with_launches_until = [](std::int64_t last) {
    TraceBuilder b;
    b.launch(1, 0, 1);
    b.kernel("a", 10, 50, 1);
    b.launch(2, 2, 3);
    b.launch(3, 4, 5);
    b.kernel("c", 50, 90, 3);
    b.launch(4, 60, 61);
    b.launch(5, last, last + 1);
    return of(b);
  };
  EXPECT_EQ(with_launches_until(80).lost_launches, 3u);
  EXPECT_EQ(with_launches_until(80).queued_launches, 2u) << "launch 2 was lost";
  EXPECT_EQ(with_launches_until(129).queued_launches, 2u) << "one more may run, as long as others";
  EXPECT_EQ(with_launches_until(131).queued_launches, 0u) << "the device was idle";
}

TEST(Recording, RowsWithNumbersBelowThoseOfAllCallsWereLaunchedBefore) {
  TraceBuilder b;
  b.kernel("early", 0, 5, 7);
  b.launch(9, 1, 2);
  b.kernel("a", 10, 20, 9);
  b.kernel("lost call", 20, 30, 11);
  const RankRecording r = of(b);
  EXPECT_EQ(r.loose_rows, 2u);
  EXPECT_EQ(r.early_rows, 1u);
}

TEST(Recording, CountsTheNodesOfGraphLaunches) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaGraphLaunch", 0, 4, 1);
  for (const std::int64_t at : {10, 20, 30}) b.kernel("node", at, at + 5, 1);
  b.launch(2, 40, 41);
  b.kernel("single", 45, 50, 2);
  const RankRecording r = of(b);
  EXPECT_EQ(r.launches, 2u);
  EXPECT_EQ(r.graph_launches, 1u);
  EXPECT_EQ(r.graph_rows, 3u);
  EXPECT_FALSE(r.pytorch);
}

TEST(Recording, CountsRowsOutsideTheProfilersWindow) {
  TraceBuilder b;
  b.row(b.thread(9), Category::trace_window, "PyTorch Profiler (0)", 100, 200);
  b.op("aten::early", 90, 110);
  b.op("aten::inside", 120, 130);
  b.kernel("late", 190, 250);
  EXPECT_EQ(of(b).outside_rows, 2u);
}

TEST(Recording, CountsKernelsThatOutlastTheNextOfTheirStream) {
  TraceBuilder b;
  b.kernel("impossible", 0, 100);
  b.kernel("next", 10, 20);
  b.kernel("tail", 200, 220);
  b.kernel("launched early", 215, 240);
  EXPECT_EQ(of(b).overlapping_rows, 1u);
}

TEST(Recording, CountsProcessesThatMarkTheSameStep) {
  TraceBuilder one;
  one.step("ProfilerStep#1", 0, 10);
  one.row(one.thread(2), Category::user_annotation, "ProfilerStep#1", 0, 10);
  EXPECT_EQ(of(one).stepping_processes, 1u);
  TraceBuilder two;
  two.step("ProfilerStep#1", 0, 10);
  two.row(two.thread(2), Category::user_annotation, "ProfilerStep#1", 0, 10);
  two.trace().tracks.back().pid = 2000;
  EXPECT_EQ(of(two).stepping_processes, 2u);
}

TEST(Recording, CountsGroupsAndPeersOfCollectives) {
  TraceBuilder b;
  const auto add = [&](const char* name, const char* group, int peer) {
    const SliceId row = b.row(b.thread(1), Category::cpu_op, "record_param_comms", 0, 1);
    Collective c;
    c.slice = row;
    c.name = b.trace().strings.intern(name);
    c.group_name = b.trace().strings.intern(group);
    c.dst_rank = peer;
    b.trace().collectives.push_back(c);
  };
  add("allreduce", "0", -1);
  add("allreduce", "", -1);
  add("send", "1", 3);
  add("send", "1", -1);
  const RankRecording r = of(b);
  EXPECT_EQ(r.collectives, 4u);
  EXPECT_EQ(r.in_named_groups, 3u);
  EXPECT_EQ(r.messages, 2u);
  EXPECT_EQ(r.addressed_messages, 1u);
}

constexpr std::int64_t ms = 1'000'000;

StartUp start_up_of(TraceBuilder& b) {
  const Trace trace = b.sealed();
  return find_start_up(trace, index_rank(trace));
}

void call(TraceBuilder& b, std::string_view name, std::int64_t start, std::int64_t end,
          std::uint32_t correlation = 0) {
  b.row(b.thread(1), Category::runtime, name, start, end, correlation);
}

// As cublasCreate() does within the first product.
void make_handle(TraceBuilder& b, std::int64_t at) {
  b.op("aten::mm", at, at + 20 * ms);
  call(b, "cudaFree", at + 1 * ms, at + 15 * ms);
  for (int i = 0; i < 6; ++i)
    call(b, "cudaDeviceGetAttribute", at + 15 * ms + 10 * i, at + 15 * ms + 10 * i + 5);
  call(b, "cudaMalloc", at + 16 * ms, at + 17 * ms);
}

TEST(StartUp, IsALibrarysHandleWithinAnOperator) {
  TraceBuilder b;
  make_handle(b, 0);
  call(b, "cudaLaunchKernel", 18 * ms, 18 * ms + 5, 1);
  b.kernel("gemm", 19 * ms, 20 * ms, 1);
  const StartUp found = start_up_of(b);
  ASSERT_EQ(found.spans.size(), 1u);
  EXPECT_EQ(found.spans[0].kind, StartUpKind::library);
  EXPECT_EQ(found.spans[0].what, "aten::mm");
  EXPECT_EQ(found.spans[0].most_in, "cudaFree");
  EXPECT_EQ(found.spans[0].start, Ns{1 * ms});
  EXPECT_EQ(found.spans[0].end, Ns{17 * ms});
  EXPECT_EQ(found.total, Ns{16 * ms});
  EXPECT_TRUE(found.holds(Ns{5 * ms}));
  EXPECT_FALSE(found.holds(Ns{17 * ms}));
  EXPECT_EQ(found.before(Ns{5 * ms}), Ns{4 * ms});
}

TEST(StartUp, IsNoCacheThatIsFreedForAnAllocation) {
  TraceBuilder b;
  b.op("aten::mm", 0, 20 * ms);
  call(b, "cudaMalloc", 1 * ms, 2 * ms);
  call(b, "cudaFree", 2 * ms, 9 * ms);
  call(b, "cudaMalloc", 9 * ms, 10 * ms);
  EXPECT_TRUE(start_up_of(b).spans.empty());
}

TEST(StartUp, OfALibraryIsTheFirstOfItsOperator) {
  TraceBuilder b;
  for (const std::int64_t at : {0 * ms, 30 * ms}) {
    make_handle(b, at);
    call(b, "cudaLaunchKernel", at + 18 * ms, at + 18 * ms + 5);
  }
  EXPECT_EQ(start_up_of(b).spans.size(), 1u);
}

TEST(StartUp, IsTheFirstLaunchOfAKernelIntoAnIdleDevice) {
  TraceBuilder b;
  call(b, "cudaLaunchKernel", 0, 70 * ms, 1);
  b.kernel("lazy", 70 * ms, 71 * ms, 1);
  call(b, "cudaLaunchKernel", 80 * ms, 95 * ms, 2);  // once more: no loading
  b.kernel("lazy", 95 * ms, 96 * ms, 2);
  const StartUp found = start_up_of(b);
  ASSERT_EQ(found.spans.size(), 1u);
  EXPECT_EQ(found.spans[0].kind, StartUpKind::first_launch);
  EXPECT_EQ(found.spans[0].what, "lazy");
  EXPECT_EQ(found.total, Ns{70 * ms});
}

TEST(StartUp, IsNoLaunchIntoAFullQueue) {
  TraceBuilder b;
  call(b, "cudaLaunchKernel", 0, 5, 1);
  b.kernel("long", 10, 60 * ms, 1);
  call(b, "cudaLaunchKernel", 1 * ms, 59 * ms, 2);
  b.kernel("new", 60 * ms, 61 * ms, 2);
  EXPECT_TRUE(start_up_of(b).spans.empty());
}

TEST(StartUp, IsTheCaptureOfAGraph) {
  TraceBuilder b;
  call(b, "cudaLaunchKernel", 0, 5, 1);
  b.kernel("fill", 10, 20, 1);
  call(b, "hipStreamBeginCapture", 1 * ms, 1 * ms + 5);
  call(b, "hipLaunchKernel", 2 * ms, 2 * ms + 5, 2);
  call(b, "hipStreamEndCapture", 40 * ms, 41 * ms);
  call(b, "cudaLaunchKernel", 50 * ms, 50 * ms + 5, 3);
  b.kernel("fill", 51 * ms, 52 * ms, 3);
  const StartUp found = start_up_of(b);
  ASSERT_EQ(found.spans.size(), 1u);
  EXPECT_EQ(found.spans[0].kind, StartUpKind::capture);
  EXPECT_EQ(found.total, Ns{39 * ms});
}

TEST(StartUp, IsNoCaptureThatEachStepRepeats) {
  TraceBuilder b;
  for (const std::int64_t n : {0, 1}) {
    call(b, "cudaStreamBeginCapture", (50 * n + 1) * ms, (50 * n + 1) * ms + 5);
    call(b, "cudaStreamEndCapture", (50 * n + 40) * ms, (50 * n + 41) * ms);
  }
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  std::vector<Step> steps(2);
  for (const std::size_t n : {0U, 1U}) {
    steps[n].host_start = Ns{50 * ms} * static_cast<std::int64_t>(n);
    steps[n].host_end = steps[n].host_start + Ns{50 * ms};
  }
  EXPECT_TRUE(find_start_up(trace, rank, steps).spans.empty());
  EXPECT_EQ(find_start_up(trace, rank).spans.size(), 2u);
}

TEST(StartUp, IsCodeThatIsLoadedAndCallsThatSetUp) {
  TraceBuilder b;
  b.row(b.thread(1), Category::driver, "cuModuleLoadData", 0, 3 * ms);
  b.row(b.thread(1), Category::driver, "cuModuleLoadData", 4 * ms, 6 * ms);
  call(b, "cudaStreamCreateWithPriority", 7 * ms, 9 * ms);
  call(b, "cudaStreamCreateWithPriority", 10 * ms, 12 * ms);
  call(b, "cudaDeviceSynchronize", 13 * ms, 20 * ms);  // waits for the device
  call(b, "cudaMemcpyAsync", 21 * ms, 30 * ms);
  const StartUp found = start_up_of(b);
  ASSERT_EQ(found.spans.size(), 3u);
  EXPECT_EQ(found.spans[1].kind, StartUpKind::code);
  EXPECT_EQ(found.spans[2].kind, StartUpKind::first_call);
  EXPECT_EQ(found.total, Ns{7 * ms});
}

TEST(StartUp, IsTheFirstLongCallOfAllBeforeTheDeviceWorks) {
  for (const std::string_view name : {"cudaHostAlloc", "cudaFree", "cudaMallocManaged"}) {
    TraceBuilder b;
    call(b, "cuModuleGetLoadingMode", 0, 500);
    call(b, name, 1 * ms, 120 * ms);
    b.launch(1, 130 * ms, 131 * ms);
    b.kernel("k", 132 * ms, 133 * ms, 1);
    const StartUp found = start_up_of(b);
    ASSERT_FALSE(found.spans.empty()) << name;
    EXPECT_EQ(found.spans[0].kind, StartUpKind::context);
    EXPECT_EQ(found.spans[0].what, name);
  }
  TraceBuilder b;  // the device works already
  b.kernel("k", 0, 1 * ms);
  call(b, "cudaFree", 1 * ms, 120 * ms);
  EXPECT_TRUE(start_up_of(b).spans.empty());
}

TEST(Recording, MigrationsAreNoWorkWithoutALaunch) {
  TraceBuilder b;
  b.launch(1, 0, 10);
  b.kernel("k", 20, 40, 1);
  b.row(b.stream(0, 7), Category::memcpy, "Memcpy HtoD (Unified, page fault)", 22, 24);
  b.row(b.stream(0, 7), Category::memcpy, "Memcpy DtoH (Unified, prefetch)", 26, 29);
  const Trace trace = b.sealed();
  const RankRecording r = recording_of(trace, index_rank(trace), {});
  EXPECT_EQ(r.device_rows, 3U);
  EXPECT_EQ(r.loose_rows, 0U);
  EXPECT_EQ(r.migrations, 2U);
  EXPECT_EQ(r.fault_migrations, 1U);
  EXPECT_EQ(r.migration_time, Ns{5});
  EXPECT_TRUE(r.managed_memory);
}

TEST(Recording, RowsThatTheReaderLeftOutAreNotLost) {
  RankRecording r;
  r.lost_launches = 3;
  EXPECT_EQ(r.lost_rows(), 3U);
  r.notes = {{"unreadable_timestamp", 1}, {"missing_duration", 5}};
  EXPECT_EQ(r.lost_rows(), 2U);
  r.queued_launches = 4;
  EXPECT_EQ(r.lost_rows(), 0U);
}

}  // namespace

}  // namespace stepscope

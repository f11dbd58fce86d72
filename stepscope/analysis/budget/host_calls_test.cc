// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/host_calls.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

HostTable host(Trace& trace, const std::vector<Step>& steps) {
  return host_table(trace, index_rank(trace), steps);
}

TEST(host, measures_the_slack_and_the_queue_of_launches) {
  WorkBuilder b;
  b.launch_kernel(1, 0, "k", 11, 50);   // calls take 1 ns: slack 10
  b.launch_kernel(2, 10, "k", 50, 60);  // 39
  b.launch_kernel(3, 20, "k", 60, 70);  // 39
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.launches, 3U);
  EXPECT_EQ(h.launch_time, Ns{3});
  EXPECT_EQ(h.slack_p50, Ns{39});
  EXPECT_EQ(h.slack_p90, Ns{39});
  EXPECT_EQ(h.queue_max, 2U);
  ASSERT_TRUE(h.queue_mean);
  EXPECT_DOUBLE_EQ(*h.queue_mean, (10 + 39 + 39) / 100.0);
}

TEST(host, counts_a_graph_as_one_launch_of_its_first_kernel) {
  WorkBuilder b;
  b.launch(5, 0, 2);
  b.kernel("a", 10, 20, 5);
  b.kernel("b", 20, 30, 5);
  b.kernel("c", 30, 40, 5);
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.launches, 1U);
  EXPECT_EQ(h.slack_p50, Ns{8});
  EXPECT_EQ(h.queue_max, 1U);
}

TEST(host, is_launch_bound_where_the_device_has_run_dry_before_most_launches) {
  WorkBuilder b;
  for (int i = 0; i < 10; ++i)
    b.launch_kernel(static_cast<std::uint32_t>(i + 1), 10 * i, "k", 10 * i + 4, 10 * i + 8);
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.empty_queue_launches, 9U);  // the first launch ends no gap
  EXPECT_EQ(h.starved, Ns{9 * 6});
  EXPECT_TRUE(h.launch_bound);
}

TEST(host, is_not_launch_bound_with_a_full_queue_or_gaps_that_launches_did_not_make) {
  WorkBuilder b;
  for (int i = 0; i < 10; ++i)
    b.launch_kernel(static_cast<std::uint32_t>(i + 1), i, "k", 20 + 8 * i, 28 + 8 * i);
  b.launch_kernel(99, 15, "late", 150, 160);  // launched long before the gap
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 200)});
  EXPECT_EQ(h.empty_queue_launches, 0U);
  EXPECT_FALSE(h.launch_bound);
}

TEST(host, counts_kernels_that_start_before_their_launch) {
  WorkBuilder b;
  b.launch_kernel(1, 20, "k", 15, 30);
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.negative_latencies, 1U);
  EXPECT_EQ(h.slack_p50, Ns{-6});
}

TEST(host, sums_blocking_and_allocating_calls_inside_the_steps) {
  WorkBuilder b;
  const auto call = [&](std::string_view name, std::int64_t start, std::int64_t end) {
    b.row(b.thread(1), Category::runtime, name, start, end);
  };
  call("cudaDeviceSynchronize", 10, 30);
  call("cudaStreamSynchronize", 40, 45);
  call("cudaStreamSynchronize", 50, 55);
  call("cudaMalloc", 60, 67);
  call("cuMemMap", 70, 71);
  call("cudaMalloc", 500, 600);  // outside
  b.kernel("k", 0, 1);
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.sync, Ns{30});
  ASSERT_EQ(h.sync_calls.size(), 2U);
  EXPECT_EQ(t.strings[h.sync_calls[0].name], "cudaDeviceSynchronize");
  EXPECT_EQ(h.sync_calls[1].count, 2U);
  EXPECT_EQ(h.allocator, Ns{8});
  ASSERT_EQ(h.allocator_calls.size(), 2U);
  EXPECT_EQ(h.allocator_calls[0].total, Ns{7});
}

TEST(host, finds_the_loader_the_collector_and_the_profiler) {
  WorkBuilder b;
  b.step("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 20);
  b.op("aten::add", 20, 30);
  b.row(b.thread(1), Category::python_function, "<built-in function collect>", 30, 37);
  b.row(b.thread(99), Category::overhead, "Buffer Flush", 40, 50);
  b.row(b.thread(99), Category::overhead, "Instrumentation", 45, 60);
  b.kernel("k", 0, 1);
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.data, Ns{20});
  EXPECT_EQ(h.gc, Ns{7});
  EXPECT_EQ(h.overhead, Ns{20});
}

TEST(host, has_no_slack_where_nothing_was_launched) {
  WorkBuilder b;
  b.op("aten::mm", 0, 10);
  Trace t = b.sealed();
  const HostTable h = host(t, {step(0, 100)});
  EXPECT_EQ(h.launches, 0U);
  EXPECT_FALSE(h.slack_p50);
  EXPECT_FALSE(h.queue_mean);
  EXPECT_FALSE(h.launch_bound);
}

TEST(allocator_calls, are_known_of_cuda_hip_and_level_zero) {
  for (const char* name :
       {"cudaMalloc", "cudaFree", "cudaMallocAsync", "cudaHostAlloc", "hipMalloc", "hipHostMalloc",
        "hipFree", "cuMemCreate", "cuMemAddressReserve", "cuMemSetAccess", "zeMemAllocDevice"}) {
    EXPECT_TRUE(is_allocator_call(name)) << name;
  }
  for (const char* name : {"cudaMemcpyAsync", "cudaMemsetAsync", "cudaLaunchKernel",
                           "cuMemcpyHtoDAsync", "aten::empty", "cudaEventRecord", ""}) {
    EXPECT_FALSE(is_allocator_call(name)) << name;
  }
}

TEST(HostIdle, IsWhatTheHostDoesUntilTheLaunchHasReturned) {
  constexpr std::int64_t us = 1000;
  WorkBuilder b;
  b.launch_kernel(1, 0, "k", 10 * us, 100 * us);
  b.row(b.thread(1), Category::runtime, "cudaMalloc", 110 * us, 310 * us);
  b.launch_kernel(2, 400 * us, "k", 410 * us, 500 * us);     // 310 µs, in 200 of them it allocates
  b.launch_kernel(3, 510 * us, "k", 5000 * us, 5100 * us);   // returns at once and begins late
  b.launch_kernel(4, 4990 * us, "k", 5100 * us, 5200 * us);  // queued
  Trace t = b.sealed();
  const HostIdle idle = host_idle(t, index_rank(t), std::vector<Step>{step(0, 6000 * us)});
  EXPECT_EQ(idle.allocating, Ns{200 * us});
  // With the usual latency, and until the step ends.
  EXPECT_EQ(idle.launching, Ns{310 * us + 60 * us + 1 + 800 * us});
  EXPECT_EQ(idle.without_allocations(), Ns{970 * us + 1});
  EXPECT_EQ(idle.late_starts, 1U);
  EXPECT_EQ(idle.late, Ns{5000 * us - 560 * us - 1});
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/gpu_window.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

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

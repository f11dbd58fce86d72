// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/recording/start_up.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

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
  EXPECT_EQ(found.spans[0].start, Ns{1 * ms});
  EXPECT_EQ(found.spans[0].end, Ns{17 * ms});
  EXPECT_EQ(found.total, Ns{16 * ms});
  EXPECT_TRUE(found.holds(Ns{5 * ms}));
  EXPECT_FALSE(found.holds(Ns{17 * ms}));
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

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/overruns.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

// A launch with the name `call`, and kernels "stream start dur correlation" in µs.
Trace trace_of_kernels(std::string_view call, std::initializer_list<std::array<int, 4>> kernels) {
  std::string events = test::joined({R"({"ph": "X", "cat": "cuda_runtime", "name": ")", call,
                                     R"(", "pid": 1, "tid": 2, "ts": 0, "dur": 1})"});
  for (const auto& [stream, start, dur, correlation] : kernels)
    events += test::joined({R"(, {"ph": "X", "cat": "kernel", "name": "k)", std::to_string(start),
                            R"(", "pid": 0, "tid": 1, "ts": )", std::to_string(start),
                            R"(, "dur": )", std::to_string(dur),
                            R"(, "args": {"device": 0, "stream": )", std::to_string(stream),
                            R"(, "correlation": )", std::to_string(correlation), "}}"});
  return test::trace_of(test::document(events));
}

TEST(Overruns, AKernelThatOutlastsTheNextOfItsStreamEndsWhereThatBegins) {
  const Trace t = trace_of_kernels(
      "hipLaunchKernel", {{3, 20, 700, 1}, {4, 100, 500, 2}, {3, 120, 50, 3}, {3, 220, 50, 4}});
  EXPECT_EQ(test::slices_of(t),
            "hipLaunchKernel 0 1000, k20 20000 100000, k120 120000 50000, k220 220000 50000, "
            "k100 100000 500000");
  EXPECT_EQ(test::noted(t, "kernel_beyond_the_next"), 1U);
}

TEST(Overruns, SoDoesEachOfSeveral) {
  const Trace t = trace_of_kernels("hipExtModuleLaunchKernel",
                                   {{3, 20, 700, 1}, {3, 120, 900, 2}, {3, 220, 50, 3}});
  EXPECT_EQ(test::slices_of(t),
            "hipExtModuleLaunchKernel 0 1000, k20 20000 100000, k120 120000 100000, "
            "k220 220000 50000");
  EXPECT_EQ(test::noted(t, "kernel_beyond_the_next"), 2U);
}

TEST(Overruns, ATailOverTheNextKernelStays) {
  const Trace t = trace_of_kernels("hipLaunchKernel", {{3, 20, 110, 1}, {3, 120, 50, 3}});
  EXPECT_EQ(test::slices_of(t), "hipLaunchKernel 0 1000, k20 20000 110000, k120 120000 50000");
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Overruns, KernelsOfOneGraphMayRunSideBySide) {
  const Trace t = trace_of_kernels("hipGraphLaunch", {{3, 20, 700, 1}, {3, 120, 50, 1}});
  EXPECT_EQ(test::slices_of(t), "hipGraphLaunch 0 1000, k20 20000 700000, k120 120000 50000");
}

TEST(Overruns, ACopyMayRunBesideAKernel) {
  const Trace t = test::trace_of(test::document(
      R"({"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyAsync", "pid": 1, "tid": 2, "ts": 0,
          "dur": 1},
         {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 3, "ts": 20, "dur": 700},
         {"ph": "X", "cat": "gpu_memcpy", "name": "c", "pid": 0, "tid": 3, "ts": 50, "dur": 9})"));
  EXPECT_EQ(test::slices_of(t), "hipMemcpyAsync 0 1000, k 20000 700000, c 50000 9000");
}

TEST(Overruns, OnCudaAKernelMayOutlastOneThatWasLaunchedEarly) {
  const Trace t =
      trace_of_kernels("cudaLaunchKernel", {{3, 20, 700, 1}, {3, 120, 50, 2}, {4, 300, 600, 3}});
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(Overruns, ButNotTwoOrAllOtherRows) {
  const Trace two = trace_of_kernels(
      "cudaLaunchKernel", {{3, 20, 700, 1}, {3, 120, 50, 2}, {3, 220, 50, 3}, {4, 300, 600, 4}});
  EXPECT_EQ(test::slices_of(two),
            "cudaLaunchKernel 0 1000, k20 20000 100000, k120 120000 50000, k220 220000 50000, "
            "k300 300000 600000");
  EXPECT_EQ(test::noted(two, "kernel_beyond_the_next"), 1U);
  const Trace all = trace_of_kernels("cudaLaunchKernel", {{3, 20, 3400, 1}, {3, 120, 50, 2}});
  EXPECT_EQ(test::slices_of(all), "cudaLaunchKernel 0 1000, k20 20000 100000, k120 120000 50000");
}

}  // namespace
}  // namespace stepscope

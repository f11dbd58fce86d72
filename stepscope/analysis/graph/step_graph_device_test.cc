// SPDX-License-Identifier: Apache-2.0
// What operations and calls of a rank with a device wait for.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "stepscope/analysis/graph/graph_test_builder.h"
#include "stepscope/analysis/graph/step_graph.h"

namespace stepscope {
namespace {

constexpr int steps_of_loop = 5;

// A loop that launches three kernels of 10 ms a step and then reads the loss. `read` adds the rows
// of the reading: it gets the step's first correlation that is free, the instant at which the host
// asks, and the end of the last kernel; it returns when the host goes on.
template <class Read>
TestRank loop_that_reads(Read&& read) {
  TestRank r;
  std::int64_t host = 0;
  std::int64_t device = 0;
  std::uint32_t id = 1;
  for (int step = 0; step < steps_of_loop; ++step) {
    const std::int64_t begin = host;
    for (int k = 0; k < 3; ++k) {
      r.rows().launch(id, host + 10 * us, host + 16 * us);
      const std::int64_t start = std::max(host + 20 * us, device + us);
      r.rows().kernel("sm90_xmma_gemm_bf16", start, device = start + 10'000 * us, id++);
      host += 40 * us;
    }
    host = read(r, id++, host, device);
    r.rows().step("ProfilerStep#" + std::to_string(step + 10), begin, host);
  }
  return r;
}

TrackId stream_7(TestRank& r) { return r.rows().stream(0, 7); }

void call(TestRank& r, std::string_view name, std::int64_t start, std::int64_t end,
          std::uint32_t id = 0) {
  r.rows().row(r.rows().thread(1), Category::runtime, name, start, end, id);
}

// A copy to the host through a call that returns when it is done.
struct BlockingCopy {
  std::string_view name;
  std::string_view copy;
  std::int64_t operator()(TestRank& r, std::uint32_t id, std::int64_t host,
                          std::int64_t& device) const {
    const std::int64_t start = device + 2 * us;
    r.rows().row(stream_7(r), Category::memcpy, copy, start, start + 2 * us, id);
    device = start + 2 * us;
    call(r, name, host, device + 15 * us, id);
    return device + 20 * us;
  }
};

// A copy that is only asked for, and a call that waits.
struct CopyAndWait {
  std::string_view name;
  std::int64_t operator()(TestRank& r, std::uint32_t id, std::int64_t host,
                          std::int64_t& device) const {
    const std::int64_t start = device + 2 * us;
    r.rows().row(stream_7(r), Category::memcpy, "Memcpy DtoH (Device -> Pinned)", start,
                 start + 2 * us, id);
    device = start + 2 * us;
    call(r, "cudaMemcpyAsync", host, host + 5 * us, id);
    call(r, name, host + 8 * us, device + 15 * us);
    return device + 20 * us;
  }
};

void expect_waits_for_its_kernels(const BuiltGraph& b, std::string_view what) {
  EXPECT_EQ(b.replay.error, 0) << what;
  EXPECT_NEAR(b.saves("compute:2"), 0.5, 0.01) << what;
  EXPECT_LE(b.saves("host_free"), 0.01) << what;
  EXPECT_GE(b.labelled("matmul"), 0.98) << what;
  EXPECT_LE(b.labelled("launch") + b.labelled("host"), 0.01) << what;
}

TEST(StepGraphDevice, ACallThatBlocksWaitsForItsDevice) {
  for (const auto& [name, copy] : std::array<std::pair<std::string_view, std::string_view>, 4>{
           {{"cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)"},
            {"cudaMemcpy", "Memcpy DtoH (Device -> Pinned)"},
            {"hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)"},
            {"hipMemcpy", "CopyDeviceToHost"}}})
    expect_waits_for_its_kernels(
        BuiltGraph(graph_ranks_of(loop_that_reads(BlockingCopy{name, copy}))), name);
  for (const std::string_view name :
       {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
        "hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize", "cuCtxSynchronize"})
    expect_waits_for_its_kernels(BuiltGraph(graph_ranks_of(loop_that_reads(CopyAndWait{name}))),
                                 name);
}

// The rest of a step's host work is not hidden where the loop reads its loss: the device waits.
TEST(StepGraphDevice, TheHostsWorkAfterABlockingCallIsTheHosts) {
  const BuiltGraph b(graph_ranks_of(
      loop_that_reads([](TestRank& r, std::uint32_t id, std::int64_t host, std::int64_t& device) {
        const BlockingCopy read{"cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)"};
        const std::int64_t back = read(r, id, host, device);
        r.rows().op("aten::work", back, back + 6000 * us);
        return back + 6000 * us;
      })));
  EXPECT_NEAR(b.saves("compute:2"), 15.0 / 36.1, 0.01);
  EXPECT_NEAR(b.saves("host_free"), 6.1 / 36.1, 0.01);
}

// A call that waits for 20 ms, in which nothing of the recording ends, is not the host's work.
TEST(StepGraphDevice, ACallThatWaitsForWhatIsNotRecordedIsNoHostWork) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 30'000 * us);
  r.rows().launch(1, 10 * us, 15 * us);
  r.rows().kernel("sgemm", 20 * us, 100 * us, 1);
  call(r, "cudaStreamSynchronize", 200 * us, 20'200 * us);
  r.rows().launch(2, 20'210 * us, 20'215 * us);
  r.rows().kernel("sgemm", 20'220 * us, 29'990 * us, 2);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_LE(b.saves("host_free"), 0.02);
  EXPECT_GE(b.labelled("unexplained"), 0.6);
}

// Each step: a short kernel, and one that is launched to begin before the short one has ended.
TEST(StepGraphDevice, AKernelThatBeginsBeforeItsPredecessorEndsIsItsSuccessor) {
  TestRank r;
  std::uint32_t id = 1;
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t host = 500 * us * step;
    const std::int64_t device = (8'000 + 10'000 * step) * us;
    r.rows().step("ProfilerStep#" + std::to_string(step + 1), host, host + 500 * us);
    for (std::int64_t k = 0; k < 10; ++k) {
      const std::int64_t at = device + 1'000 * us * k;
      r.rows().launch(id, host + 20 * us * k, host + 20 * us * k + 4 * us);
      r.rows().kernel("prepare", at, at + 3'100, id++);
      call(r, "cudaLaunchKernelExC", host + 20 * us * k + 10 * us, host + 20 * us * k + 14 * us,
           id);
      r.rows().kernel("flash_fwd", at + 1'600, at + 999 * us, id++);
    }
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(b.graph.negative_delays, 0U);
  EXPECT_NEAR(b.saves("compute:2"), 0.5, 0.01);
  EXPECT_LE(b.labelled("unexplained"), 0.01);
}

// One call launches a graph of 18 kernels of 400 µs, 150 µs apart, and lasts until they are done.
TEST(StepGraphDevice, GapsBetweenTheNodesOfAGraphAreNotTheHosts) {
  TestRank r;
  for (std::uint32_t step = 0; step < 5; ++step) {
    const std::int64_t host = 10'000 * us * step;
    r.rows().step("ProfilerStep#" + std::to_string(step), host, host + 9'990 * us);
    call(r, "hipGraphLaunch", host + 10 * us, host + 9'910 * us, 100 + step);
    for (std::int64_t k = 0; k < 18; ++k) {
      const std::int64_t at = host + 60 * us + 550 * us * k;
      r.rows().kernel("Cijk_gemm", at, at + 400 * us, 100 + step);
    }
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_NEAR(b.saves("compute:2"), 0.36, 0.01);
  EXPECT_LE(b.saves("host_free"), 0.02);
  EXPECT_LE(b.labelled("launch") + b.labelled("host"), 0.02);
}

// The host is a step ahead, so the recording shows the first step's kernels without their calls. A
// collective among them waits for the computation launched before it, and the next computation
// begins when it has ended.
TEST(StepGraphDevice, WhatWasLaunchedBeforeTheRecordingHasItsOrder) {
  TestRank r;
  for (std::uint32_t step = 0; step < 3; ++step) {
    const std::int64_t at = 10'000 * us * step;
    const std::uint32_t id = 10 * step + 1;
    if (step > 0)
      for (std::uint32_t k = 0; k < 3; ++k)
        r.rows().launch(id + k, at - 10'000 * us + 20 * us * k,
                        at - 10'000 * us + 20 * us * k + us);
    r.rows().step("ProfilerStep#" + std::to_string(step), at, at + 10'000 * us);
    r.rows().kernel("gemm", at + us, at + 7'000 * us, id);
    r.comm(all_reduce_kernel, at + 7'005 * us, at + 9'000 * us, id + 1);
    r.rows().kernel("adam", at + 9'003 * us, at + 9'999 * us, id + 2);
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  const CriticalPath path = b.path();
  EXPECT_LE(path.residual + path.not_recorded, path.length / 100);
  // The collective, whose peers are unknown, keeps its 2 of 10 ms.
  EXPECT_NEAR(b.saves("compute:2"), 0.4, 0.01);
}

// A stream's first kernel waits for an event of an earlier batch, which the recording does not
// have. That is no latency of its launch.
TEST(StepGraphDevice, AStreamThatWaitsForWorkFromBeforeTheRecordingIsNotLate) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 522'000 * us);
  r.rows().launch(1, 60 * us, 65 * us);
  r.rows().row(r.rows().stream(0, 2), Category::kernel, "prepare", 79 * us, 82 * us, 1);
  call(r, "hipStreamWaitEvent", 100 * us, 110 * us, 2);
  r.rows().launch(3, 122 * us, 127 * us);
  call(r, "hipMemcpyWithStream", 170 * us, 493'378 * us, 4);
  r.rows().row(r.rows().stream(0, 3), Category::kernel, "resolve", 493'366 * us, 493'373 * us, 3);
  r.rows().row(r.rows().stream(0, 3), Category::memcpy, "Memcpy HtoD (Host -> Device)",
               493'373 * us, 493'378 * us, 4);
  r.rows().launch(5, 493'400 * us, 493'405 * us);
  r.rows().row(r.rows().stream(0, 3), Category::kernel, "gemm", 493'410 * us, 522'000 * us, 5);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_GE(b.labelled("not recorded"), 0.94);
  EXPECT_LE(b.labelled("launch") + b.labelled("host"), 0.01);
  EXPECT_LE(b.saves("host_free"), 0.01);
}

// A kernel that seems to last 3.4 s, over its successors, has no known end.
TEST(StepGraphDevice, AnImpossibleDurationIsNotComputing) {
  TestRank r;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::int64_t host = 400 * us * step;
    r.rows().step("ProfilerStep#" + std::to_string(step), host, host + 399 * us);
    for (std::uint32_t k = 0; k < 4; ++k) {
      const std::uint32_t id = 4 * step + k + 1;
      const bool broken = id == 6;
      r.rows().launch(id, host + 100 * us * k, host + 100 * us * k + 8 * us);
      const std::int64_t at = 500 * us + 9'600 * us * step + 2'400 * us * k;
      r.rows().kernel("gemm", at, at + (broken ? 3'400'000 * us : 2'390 * us), id);
    }
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_LT(b.replay.step, Ns{11'000 * us});
  EXPECT_GE(b.saves("compute:2"), 0.35);
  EXPECT_LE(b.saves("compute:2"), 0.5);
}

// A stream with work that stands idle waits for an event. It shows in one step only: in the others
// the kernel that is awaited has another name.
TEST(StepGraphDevice, AWaitThatShowsOnceCounts) {
  TestRank r;
  std::uint32_t id = 1;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t at = 10'000 * us * step;
    r.rows().step("ProfilerStep#" + std::to_string(step), at, at + 10'000 * us);
    const std::uint32_t first = id;
    for (std::int64_t k = 0; k < 3; ++k)
      r.rows().launch(id++, at + 20 * us * k, at + (20 * k + 5) * us);
    r.rows().kernel("a", at + 10 * us, at + 1'000 * us, first);
    r.rows().row(r.rows().stream(0, 9), Category::kernel, "side " + std::to_string(step),
                 at + 30 * us, at + (6'000 + 500 * step) * us, first + 1);
    r.rows().kernel("b", at + (6'004 + 500 * step) * us, at + 9'990 * us, first + 2);
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_LE(b.labelled("unexplained"), 0.01);
}

// Each step copies its batch from pageable memory: the call waits until the kernels of the step
// before have ended, stages the batch, and returns shortly before the copy has ended. The host then
// launches the step, faster than the device works.
TEST(StepGraphDevice, ACopyOfPageableMemoryToTheDeviceWaitsForItsStream) {
  TestRank r;
  std::uint32_t id = 1;
  std::int64_t host = 0;
  std::int64_t device = 0;
  for (int step = 0; step < 5; ++step) {
    const std::int64_t begin = host;
    const std::int64_t copy = std::max(host, device) + 200 * us;
    call(r, "cudaMemcpyAsync", host + 50 * us, copy + 2'950 * us, id);
    r.rows().row(stream_7(r), Category::memcpy, "Memcpy HtoD (Pageable -> Device)", copy,
                 copy + 3'000 * us, id++);
    device = copy + 3'000 * us;
    host = copy + 2'950 * us;
    for (int k = 0; k < 4; ++k) {
      r.rows().launch(id, host, host + 5 * us);
      r.rows().kernel("gemm", device + us, device + 5'000 * us, id++);
      device += 5'000 * us;
      host += 30 * us;
    }
    r.rows().step("ProfilerStep#" + std::to_string(step), begin, host);
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  // A step has 20 ms of kernels and 3.2 ms for the copy.
  EXPECT_NEAR(b.saves("compute:2"), 10.0 / 23.2, 0.01);
  EXPECT_LE(b.saves("host_free"), 0.02);
}

// The second branch of a graph has a stream of its own and begins when the first node has ended.
TEST(StepGraphDevice, ABranchOfAGraphOnAnotherStreamWaitsForTheGraph) {
  TestRank r;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::int64_t host = 100 * us * step;
    const std::int64_t at = 10'000 * us * step;
    r.rows().step("ProfilerStep#" + std::to_string(step), host, host + 99 * us);
    call(r, "cudaGraphLaunch", host + 10 * us, host + 20 * us, 100 + step);
    r.rows().kernel("root", at + (step == 0 ? 25 : 2) * us, at + 5'000 * us, 100 + step);
    r.rows().kernel("left", at + 5'002 * us, at + 6'000 * us, 100 + step);
    r.rows().row(r.rows().stream(0, 30), Category::kernel, "right", at + 5'003 * us,
                 at + 9'990 * us, 100 + step);
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_NEAR(b.saves("compute:2"), 0.5, 0.01);
  EXPECT_LE(b.labelled("unexplained") + b.labelled("not recorded"), 0.01);
}

// After its last launch the host works until its annotation ends.
TEST(StepGraphDevice, TheHostWorksUntilTheLastStepEnds) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 10'000 * us);
  r.rows().launch(1, 10 * us, 15 * us);
  r.rows().kernel("sgemm", 20 * us, 2'000 * us, 1);
  call(r, "cudaDeviceSynchronize", 30 * us, 2'005 * us);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_NEAR(b.labelled("host"), 0.8, 0.01);
  EXPECT_NEAR(b.saves("host_free"), 0.8, 0.01);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/step_graph.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/graph/graph_test_builder.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

// A rank of one step from 0 to `end`: launches `compute` (at 0) and an all-reduce (at 10), then
// waits for the device. The all-reduce of both ranks ends at `end` − 10.
TestRank rank_with(std::int64_t compute_end, std::int64_t end) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, end);
  r.rows().launch(1, 0, 2);
  r.rows().kernel("sgemm", 4, compute_end, 1);
  r.rows().launch(2, 10, 12);
  const SliceId comm = r.comm(all_reduce_kernel, compute_end + 2, end - 10, 2);
  r.annotate(comm, {.name = "allreduce", .seq = 7});
  r.rows().row(r.rows().thread(1), Category::runtime, "cudaDeviceSynchronize", 20, end - 2);
  return r;
}

TEST(StepGraph, ReplaysWhatWasMeasured) {
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200), rank_with(150, 200)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(b.replay.step, b.replay.measured_step);
  EXPECT_EQ(b.graph.joined, 2U);
  EXPECT_EQ(b.graph.unjoined, 0U);
  EXPECT_EQ(b.graph.removed_edges, 0U);
  EXPECT_EQ(b.graph.negative_delays, 0U);
  ASSERT_EQ(b.nodes(NodeKind::join).size(), 1U);
  for (const std::uint32_t n : b.nodes(NodeKind::transfer))
    EXPECT_EQ(b.graph.graph.duration[n], Ns{38});  // 190 minus the arrival at 152
}

TEST(StepGraph, ALateRankHoldsTheOther) {
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200), rank_with(150, 200)));
  // The late rank's matrix product takes 50 ns more than its peer's.
  const WhatIf peers = b.ask({.change = Change::rank_as_peers, .rank = 1});
  EXPECT_EQ(peers.saved, Ns{50});
  EXPECT_EQ(b.ask({.change = Change::rank_as_peers, .rank = 0}).saved, Ns{0});
  EXPECT_EQ(b.ask({.change = Change::compute, .factor = 2}).saved, Ns{73});
  EXPECT_EQ(b.ask({.change = Change::communication_free}).saved, Ns{38});
  EXPECT_EQ(b.ask({.change = Change::compute, .factor = 2, .rank = 1}).saved, Ns{50});
  EXPECT_EQ(b.ask({.change = Change::compute, .factor = 0.5, .rank = 0}).saved, Ns{-46});
  EXPECT_EQ(b.ask({.change = Change::no_waiting}).saved, Ns{0});  // the late rank stays
}

TEST(StepGraph, TheCriticalPathRunsOverTheLateRankAndTilesTheStep) {
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200), rank_with(150, 200)));
  const std::vector<HostPhases> phases(2, HostPhases{{{}, {}, {}}, {}});
  const CriticalPath path = find_critical_path(
      b.replay, b.job.views(), count_steps(b.job.views(), b.graph.clocks_comparable).of_view,
      b.collectives.matches, phases);
  EXPECT_EQ(path.length, b.replay.step);
  Ns sum{};
  for (const PathShare& s : path.shares) sum += s.time;
  EXPECT_EQ(sum, path.length);
  ASSERT_FALSE(path.shares.empty());
  EXPECT_EQ(path.shares.front().label, "matmul");
  EXPECT_EQ(path.shares.front().rank, 1);
  EXPECT_EQ(path.shares.front().time, Ns{146});
  ASSERT_EQ(path.ranks.size(), 2U);
  EXPECT_EQ(path.ranks[0].slack, Ns{50});
  EXPECT_EQ(path.ranks[1].slack, Ns{0});
}

TEST(StepGraph, WaitingIsChargedToTheLateRanksLongerWork) {
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200), rank_with(150, 200)));
  const std::vector<std::string> roles = {"all", "all"};
  const PeerMedians medians = peer_medians(b.replay, b.job.views(), roles);
  const auto blame = find_blame(b.replay, b.job.views(), b.collectives, medians);
  ASSERT_EQ(blame.size(), 1U);
  EXPECT_EQ(blame[0].rank, 1);
  EXPECT_EQ(blame[0].label, "matmul");
  EXPECT_EQ(blame[0].name, "sgemm");
  EXPECT_TRUE(blame[0].excess);
  EXPECT_EQ(blame[0].wait, Ns{50});
  EXPECT_EQ(blame[0].collectives, 1U);
}

TEST(StepGraph, OneRankAloneHasNothingToJoin) {
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200)));
  EXPECT_EQ(b.graph.joined, 0U);
  EXPECT_EQ(b.graph.unjoined, 1U);
  EXPECT_EQ(b.replay.step, Ns{196});
  EXPECT_EQ(most_saved(b.ask({.change = Change::communication_free})), Ns{88});
}

// A trace that lost the rows of its step: only a kernel after it is left.
TEST(StepGraph, ARankWithNothingInItsStepsHasNoCountedSteps) {
  TestRank idle;
  idle.rows().step("ProfilerStep#1", 0, 200);
  idle.rows().launch(1, 250, 252);
  idle.rows().kernel("sgemm", 300, 310, 1);
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200), std::move(idle)));
  ASSERT_EQ(b.graph.begin[1], no_node);
  const auto steps = count_steps(b.job.views(), b.graph.clocks_comparable).of_view;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_TRUE(steps[1].empty());
  ASSERT_EQ(steps[0].size(), 1U);
  EXPECT_EQ(steps[0].front().end - steps[0].front().start, b.replay.step);
}

// The first step lost its rows: what is counted begins within the second.
TEST(StepGraph, StepsBeforeTheFirstNodeAreNotCounted) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 200);
  r.rows().step("ProfilerStep#2", 200, 400);
  r.rows().launch(1, 250, 252);
  r.rows().kernel("sgemm", 300, 310, 1);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  const auto steps = count_steps(b.job.views(), b.graph.clocks_comparable).of_view;
  ASSERT_EQ(steps.size(), 1U);
  for (const Step& s : steps[0]) EXPECT_LT(s.start, s.end);
}

TEST(StepGraph, AnEmptyTraceHasNone) {
  const BuiltGraph b(graph_ranks_of(TestRank()));
  EXPECT_EQ(b.graph.size(), 0U);
  EXPECT_EQ(b.replay.step, Ns{0});
}

// 146 and 96 ns of compute: 121 each.
TEST(StepGraph, BalancedRanksShareTheirCompute) {
  const BuiltGraph b(graph_ranks_of(rank_with(100, 200), rank_with(150, 200)));
  EXPECT_EQ(b.ask({.change = Change::ranks_balanced}).saved, Ns{25});
}

// The wait of a kernel on an empty stream is not launch latency.
TEST(StepGraph, WaitingForAMessageIsNoLaunchLatency) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 200);
  r.rows().launch(1, 0, 2);
  r.comm(all_reduce_kernel, 4, 100, 1);
  r.rows().launch(2, 5, 7);
  r.rows().kernel("sgemm", 101, 150, 2);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(most_saved(b.ask({.change = Change::communication_free})), Ns{96});
  EXPECT_EQ(b.ask({.change = Change::host_free}).saved, Ns{0});
}

// Recorders round: a stream's next operation may seem to begin slightly before the end.
TEST(StepGraph, AStreamKeepsItsOrderWhereInstantsAreRounded) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 201);
  r.rows().launch(1, 0, 2);
  r.rows().kernel("sgemm", 4, 102, 1);
  r.rows().launch(2, 10, 12);
  r.rows().kernel("sgemm", 101, 201, 2);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(b.graph.negative_delays, 0U);
  EXPECT_EQ(b.ask({.change = Change::compute, .factor = 2}).saved, Ns{98});
}

// The main thread launches, then the backward thread, then the main thread again. `pause` is a hole
// without a row in the last work of the main thread.
TestRank rank_of_two_threads(std::int64_t pause) {
  TestRank r;
  const TrackId main = r.rows().thread(1);
  const TrackId backward = r.rows().thread(2);
  r.rows().step("ProfilerStep#1", 0, 1000 * us);
  r.rows().row(main, Category::cpu_op, "aten::mm", 0, 100 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 90 * us, 95 * us, 1);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 110 * us, 115 * us, 4);
  r.rows().row(backward, Category::cpu_op, "MmBackward0", 120 * us, 500 * us);
  r.rows().row(backward, Category::runtime, "cudaLaunchKernel", 490 * us, 495 * us, 2);
  r.rows().row(main, Category::cpu_op, "aten::detach", 530 * us, 540 * us);
  r.rows().row(main, Category::cpu_op, "aten::add_", (540 + pause) * us, 800 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 790 * us, 795 * us, 3);
  r.rows().kernel("a", 100 * us, 110 * us, 1);
  r.rows().kernel("a", 116 * us, 120 * us, 4);
  r.rows().kernel("b", 500 * us, 510 * us, 2);
  r.rows().kernel("c", 800 * us, 990 * us, 3);
  return r;
}

// Work launched by a backward thread waits for the main thread, and the reverse.
TEST(StepGraph, ThreadsHandWorkOver) {
  for (const std::int64_t pause : {0, 40}) {
    const BuiltGraph b(graph_ranks_of(rank_of_two_threads(pause)));
    // Host time after the first launch: 400 µs to the launch of the backward thread, 300 to the
    // next.
    const WhatIf halved = b.ask({.change = Change::host, .factor = 2});
    EXPECT_EQ(halved.saved, Ns{(380 + 300) / 2 * us}) << pause;
  }
}

// A host node that contains the loader: each cause removes its own part, together they remove all.
TEST(StepGraph, CausesInOneNodeAddUp) {
  TestRank r;
  const TrackId main = r.rows().thread(1);
  r.rows().step("ProfilerStep#1", 0, 1000 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 0, 2 * us, 1);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 10 * us, 12 * us, 3);
  r.rows().row(main, Category::cpu_op, "aten::mm", 15 * us, 900 * us);
  r.rows().row(main, Category::user_annotation, "enumerate(DataLoader)#_Iter.__next__", 20 * us,
               620 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 700 * us, 705 * us, 2);
  r.rows().kernel("a", 2 * us, 10 * us, 1);
  r.rows().kernel("c", 12 * us, 14 * us, 3);
  r.rows().kernel("b", 705 * us, 990 * us, 2);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  const WhatIf host = b.ask({.change = Change::host_free});
  const WhatIf data = b.ask({.change = Change::data_free});
  EXPECT_EQ(data.saved, Ns{600 * us});
  EXPECT_GE(host.saved, Ns{90 * us});
  EXPECT_LE(host.saved, Ns{105 * us});
  ASSERT_TRUE(host.removed && host.added && data.removed && data.added);
  EXPECT_NEAR(*host.removed + *data.removed, 1, 0.02);
  EXPECT_NEAR(*host.added, *host.removed, 0.02);
  EXPECT_NEAR(*data.added, *data.removed, 0.02);
}

// The host is a step ahead from the first row on, so the first operation says nothing of how long a
// launch takes. Compute sets the pace.
TEST(StepGraph, AHostThatWasAheadBeforeTheRecordingCostsNothing) {
  TestRank r;
  for (std::uint32_t step = 0; step < 4; ++step) {
    const std::int64_t host = 1000 * us * step;
    r.rows().step("ProfilerStep#" + std::to_string(step + 1), host, host + 1000 * us);
    r.rows().launch(step + 1, host + 10 * us, host + 12 * us);
    r.rows().kernel("gemm", host + 1010 * us, host + 2005 * us, step + 1);
  }
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_LE(b.ask({.change = Change::host_free}).saved, Ns{10 * us});
}

// The allocator waits for a block that the device uses. Its frees are the host's own time.
TEST(StepGraph, AnAllocatorWaitsForTheDeviceBeforeItsFrees) {
  TestRank r;
  const TrackId main = r.rows().thread(1);
  r.rows().step("ProfilerStep#1", 0, 1000 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 0, 2 * us, 1);
  r.rows().kernel("a", 2 * us, 702 * us, 1);
  r.rows().row(main, Category::cpu_op, "aten::cat", 10 * us, 900 * us);
  r.rows().row(main, Category::runtime, "cudaMalloc", 11 * us, 12 * us);
  r.rows().row(main, Category::runtime, "cudaFree", 703 * us, 740 * us);
  r.rows().row(main, Category::runtime, "cudaFree", 740 * us, 780 * us);
  r.rows().row(main, Category::runtime, "cudaMalloc", 780 * us, 790 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 795 * us, 796 * us, 2);
  r.rows().kernel("b", 796 * us, 990 * us, 2);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.ask({.change = Change::compute, .factor = 2}).saved, Ns{447 * us});
  EXPECT_EQ(b.ask({.change = Change::host_free}).saved, Ns{93 * us});
}

// A copy of pageable memory holds its host up. Its call may return before the copy has ended.
TEST(StepGraph, ACopyOfPageableMemoryIsNotTheHostsTime) {
  TestRank r;
  const TrackId main = r.rows().thread(1);
  const TrackId stream = r.rows().stream(0, 7);
  r.rows().step("ProfilerStep#1", 0, 1000 * us);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 0, 2 * us, 1);
  r.rows().kernel("a", 2 * us, 10 * us, 1);
  r.rows().row(main, Category::runtime, "cudaMemcpyAsync", 20 * us, 620 * us, 2);
  r.rows().row(stream, Category::memcpy, "Memcpy HtoD (Pageable -> Device)", 20 * us, 630 * us, 2);
  r.rows().row(main, Category::runtime, "cudaLaunchKernel", 625 * us, 627 * us, 3);
  r.rows().kernel("b", 630 * us, 990 * us, 3);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_GE(b.ask({.change = Change::copies_free}).saved, Ns{590 * us});
  EXPECT_LE(b.ask({.change = Change::host_free}).saved, Ns{30 * us});
}

// A rank of two gloo ranks. It computes until `compute_end`, submits an all-reduce that its thread
// begins after `delay`, shows no row while it waits, and updates from 820 µs on for 100 µs.
TestRank gloo_rank(std::int64_t compute_end, std::int64_t recorded_end = 800,
                   std::int64_t delay = 1) {
  TestRank r;
  const TrackId main = r.rows().thread(1);
  r.built().metadata.groups.push_back({"0", "default_pg", "gloo", 2, {0, 1}});
  r.rows().step("ProfilerStep#1", 0, 920 * us);
  r.rows().row(main, Category::cpu_op, "aten::mm", 0, compute_end * us);
  r.rows().row(main, Category::cpu_op, "c10d::allreduce_", compute_end * us,
               (compute_end + 2) * us);
  r.rows().row(r.rows().thread(2), Category::user_annotation, "gloo:all_reduce",
               (compute_end + delay) * us, recorded_end * us);
  r.rows().row(main, Category::cpu_op, "aten::add_", 820 * us, 920 * us);
  return r;
}

TEST(StepGraph, AThreadWithoutARowWaitsForTheCollectiveThatEndsMeanwhile) {
  const BuiltGraph b(graph_ranks_of(gloo_rank(300), gloo_rank(700)));
  ASSERT_EQ(b.graph.joined, 2U);
  EXPECT_EQ(b.replay.error, 0);
  // The late rank's product is 400 µs longer than its peer's; both ranks wait for it.
  EXPECT_EQ(b.ask({.change = Change::rank_as_peers, .rank = 1}).saved, Ns{400 * us});
  EXPECT_EQ(b.ask({.change = Change::rank_as_peers, .rank = 0}).saved, Ns{0});
  // The host's own time is the 20 µs after the collective, not the wait.
  EXPECT_LE(b.ask({.change = Change::host_free}).saved, Ns{25 * us});
  EXPECT_GE(b.ask({.change = Change::host_free}).saved, Ns{20 * us});
}

TEST(StepGraph, ACallRecordedLateIsStillWhatTheThreadWaitedFor) {
  const BuiltGraph b(graph_ranks_of(gloo_rank(300, 840, 5), gloo_rank(700, 825, 5)));
  ASSERT_EQ(b.graph.joined, 2U);
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(b.ask({.change = Change::rank_as_peers, .rank = 1}).saved, Ns{400 * us});
  EXPECT_LE(b.ask({.change = Change::host_free}).saved, Ns{5 * us});
}

// The first end of a member shows when an all-reduce was done on all of them.
TEST(StepGraph, ACallWhosePeerHasEndedIsWhatTheThreadWaitedForHoweverLateItsEnd) {
  const BuiltGraph b(graph_ranks_of(gloo_rank(300, 880, 5), gloo_rank(700, 815, 5)));
  ASSERT_EQ(b.graph.joined, 2U);
  EXPECT_EQ(b.ask({.change = Change::rank_as_peers, .rank = 1}).saved, Ns{400 * us});
}

// What follows the collective on its thread makes the rows of both ranks longer.
TEST(StepGraph, AThreadThatGoesOnSoonAfterTheLastArrivalWaitedForIt) {
  const BuiltGraph b(graph_ranks_of(gloo_rank(300, 915, 5), gloo_rank(780, 915, 5)));
  ASSERT_EQ(b.graph.joined, 2U);
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(b.ask({.change = Change::rank_as_peers, .rank = 1}).saved, Ns{480 * us});
  EXPECT_LE(b.ask({.change = Change::host_free}).saved, Ns{60 * us});
}

TEST(StepGraph, AThreadThatGoesOnLongBeforeACollectiveEndsDidNotWaitForIt) {
  const BuiltGraph b(graph_ranks_of(gloo_rank(300, 900), gloo_rank(310, 900)));
  ASSERT_EQ(b.graph.joined, 2U);
  EXPECT_GE(b.ask({.change = Change::host_free}).saved, Ns{500 * us});
}

// Two stages of a pipeline: the first computes for 300 µs, sends, and computes on while its message
// is in flight; the second waits for the message, which takes 10 µs, and computes for 400 µs. Both
// update for 20 µs.
std::vector<GlooRank> stages() {
  std::vector<GlooRank> ranks(2);
  for (GlooRank& rank : ranks) {
    rank.group("0", "default_pg", {0, 1});
  }
  ranks[0].rows().op("aten::mm", 0, 300 * us);
  ranks[0].message({.peer = 1, .asked = 300 * us, .collected = 402 * us});
  ranks[0].rows().op("aten::mm", 310 * us, 400 * us);
  ranks[0].rows().op("aten::add_", 412 * us, 432 * us);
  ranks[0].rows().step("ProfilerStep#1", 0, 432 * us);
  ranks[1].message({.sends = false, .peer = 0, .asked = 1 * us, .collected = 310 * us});
  ranks[1].rows().op("aten::mm", 310 * us, 710 * us);
  ranks[1].rows().op("aten::add_", 720 * us, 740 * us);
  ranks[1].rows().step("ProfilerStep#1", 0, 740 * us);
  return ranks;
}

TEST(StepGraph, AStageWaitsForItsMessageAndTheOtherComputesMeanwhile) {
  std::vector<TestRank> ranks;
  for (GlooRank& rank : stages()) ranks.push_back(std::move(rank.rank()));
  const BuiltGraph b(std::move(ranks));
  ASSERT_EQ(b.graph.joined, 2U);
  EXPECT_EQ(b.replay.error, 0);
  // The first stage's product before the message holds both, its other product nobody.
  const auto saved = [&](int rank) {
    const Ns time = b.ask({.change = Change::compute, .factor = 2, .rank = rank}).saved;
    return static_cast<double>(time.count()) / us;
  };
  EXPECT_NEAR(saved(0), 150, 0.01);
  EXPECT_NEAR(saved(1), 210, 0.01);
  // Only the 10 µs before the update are the host's.
  EXPECT_LE(b.ask({.change = Change::host_free}).saved, Ns{15 * us});
}

// The queue has room for 256 launches. A launch that finds it full returns when the kernel 256
// places before it ends; with faster kernels it returns earlier.
TEST(StepGraph, ALaunchThatWaitsForRoomInTheQueueIsNotItsHostsTime) {
  constexpr int queue = 256;
  constexpr int kernels = 500;  // per step
  TestRank r;
  std::int64_t host = 1000 * us;
  std::vector<std::int64_t> ends;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t begin = host;
    for (int k = 0; k < kernels; ++k) {
      const std::int64_t called = host + 4 * us;
      host = called + 5 * us;
      if (ends.size() >= queue) host = std::max(host, ends[ends.size() - queue]);
      const auto id = static_cast<std::uint32_t>(ends.size() + 1);
      r.rows().launch(id, called, host);
      const std::int64_t start = std::max(host + 5 * us, ends.empty() ? 0 : ends.back());
      r.rows().kernel("sgemm", start, start + 100 * us, id);
      ends.push_back(start + 100 * us);
    }
    r.rows().step("ProfilerStep#" + std::to_string(step), begin, host);
  }
  const BuiltGraph built(graph_ranks_of(std::move(r)));
  EXPECT_NEAR(static_cast<double>(built.replay.step.count()), 50'000.0 * us, 500.0 * us);
  const WhatIf fast = built.ask({.change = Change::compute, .factor = 2});
  EXPECT_NEAR(static_cast<double>(fast.step.count()), 25'000.0 * us, 500.0 * us);
}

TEST(StepGraph, BrokenOrderIsCountedAndStillReplays) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 300);
  r.rows().launch(1, 10, 12);
  r.rows().kernel("early", 5, 50, 1);  // starts before its launch: the device's clock is ahead
  r.rows().launch(2, 60, 62);
  r.rows().kernel("late", 70, 250, 2);
  const BuiltGraph b(graph_ranks_of(std::move(r)));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_GE(b.graph.negative_delays, 1U);
}

}  // namespace
}  // namespace stepscope

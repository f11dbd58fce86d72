// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/overlap.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

constexpr std::string_view all_reduce_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

std::optional<Overlap> overlap_of(TraceBuilder& b) {
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const std::vector<Step> steps = find_steps(trace, rank);
  return overlap(trace, rank, steps, time_budget(trace, rank, steps));
}

TEST(Overlap, WithoutCommunicationThereIsNone) {
  TraceBuilder b;
  b.kernel("gemm", 0, 10);
  EXPECT_FALSE(overlap_of(b));
}

TEST(Overlap, NoneAndPerfectOverlapFrameTheStep) {
  TraceBuilder b;
  b.kernel("gemm", 0, 100);
  b.row(b.stream(0, 20), Category::kernel, all_reduce_kernel, 60, 140);
  b.kernel("adam", 150, 160);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_EQ(o->compute, Ns{110});
  EXPECT_EQ(o->comm, Ns{80});
  EXPECT_EQ(o->overlap, Ns{40});
  EXPECT_EQ(o->step, Ns{160});
  EXPECT_DOUBLE_EQ(o->ratio.value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(o->efficiency.value_or(0), 0.5);
  EXPECT_EQ(o->no_overlap, Ns{200});
  EXPECT_EQ(o->perfect_overlap, Ns{120}) << "10 idle, then the longer of the two";
  EXPECT_EQ(o->schedule_bound, Ns{150}) << "60 of compute come before the 80";
}

TEST(Overlap, TheLastCommunicationWaitsForWhatComesBeforeIt) {
  TraceBuilder b;
  b.row(b.stream(0, 20), Category::kernel, all_reduce_kernel, 0, 10);
  b.kernel("gemm", 0, 100);
  b.row(b.stream(0, 20), Category::kernel, all_reduce_kernel, 100, 130);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_EQ(o->perfect_overlap, Ns{100});
  EXPECT_EQ(o->schedule_bound, Ns{130});
}

TEST(Overlap, CommunicationWithoutComputeHasNoEfficiency) {
  TraceBuilder b;
  b.kernel(all_reduce_kernel, 0, 10);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_DOUBLE_EQ(o->ratio.value_or(1), 0);
  EXPECT_EQ(o->efficiency, std::nullopt);
  EXPECT_EQ(o->perfect_overlap, Ns{10});
}

TEST(Overlap, StepsAreBoundedOneByOne) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 50);
  b.step("ProfilerStep#1", 50, 200);
  b.launch(1, 1, 2);
  b.launch(2, 51, 52);
  b.kernel("gemm", 10, 100, 1);
  b.kernel(all_reduce_kernel, 100, 200, 2);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_EQ(o->perfect_overlap, Ns{190}) << "work of one step cannot hide in another";
}

TEST(Overlap, ACpuOnlyTraceHasNoSchedule) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::mm", 10, 40);
  b.row(b.thread(2), Category::user_annotation, "gloo:all_reduce", 30, 60);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_EQ(o->overlap, Ns{10});
  EXPECT_EQ(o->compute, Ns{30});
  EXPECT_EQ(o->comm, Ns{30});
  EXPECT_EQ(o->schedule_bound, std::nullopt);
}

// A kernel of an operator with this external id.
void run_of(TraceBuilder& b, std::uint32_t operator_id, std::int64_t start, std::int64_t length) {
  const SliceId row = b.row(b.stream(0, 7), Category::kernel, "gemm", start, start + length);
  b.trace().slices.external_id[index(row)] = operator_id;
}

// Operators 1 and 2 have shapes, 3 does not.
void add_operators(TraceBuilder& b) {
  for (const std::uint32_t id : {1u, 2u, 3u}) {
    const SliceId row = b.row(b.thread(1), Category::cpu_op, "aten::mm", id, id + 1);
    b.trace().slices.external_id[index(row)] = id;
    if (id == 3) continue;
    OpDetails& ops = b.trace().ops;
    b.trace().slices.detail[index(row)] = static_cast<std::uint32_t>(ops.size());
    ops.input_dims.push_back(b.trace().strings.intern(id == 1 ? "[[8, 8]]" : "[[64, 64]]"));
    ops.input_types.push_back(empty_string);
    ops.concrete_inputs.push_back(empty_string);
    ops.sequence.push_back(-1);
    ops.forward_thread.push_back(0);
  }
}

// Four runs alone of 100 ns, every other one longer by `spread`, and three overlapped of 130 ns.
void contended(TraceBuilder& b, std::uint32_t operator_id, std::int64_t spread) {
  add_operators(b);
  std::int64_t t = 10;
  for (std::int64_t i = 0; i < 4; ++i, t += 1000) run_of(b, operator_id, t, 100 + (i % 2) * spread);
  for (std::int64_t i = 0; i < 4; ++i, t += 1000) {
    // Communication touches the last run for less than half: it counts as neither.
    run_of(b, operator_id, t, i < 3 ? 130 : 500);
    b.row(b.stream(0, 20), Category::kernel, all_reduce_kernel, t, t + 90);
  }
  run_of(b, 2, t, 900);  // another shape of the same kernel
}

TEST(Contention, TheSameKernelIsComparedAloneAndUnderOverlap) {
  TraceBuilder b;
  contended(b, 1, 0);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  ASSERT_EQ(o->contention.size(), 1u);
  const Contention& c = o->contention[0];
  EXPECT_EQ(c.name, "gemm");
  EXPECT_EQ(c.shape, "[[8, 8]]");
  EXPECT_EQ(c.alone, Ns{100});
  EXPECT_EQ(c.overlapped, Ns{130});
  EXPECT_DOUBLE_EQ(c.slowdown, 1.3);
  EXPECT_EQ(c.count, 3u);
  EXPECT_EQ(c.lost, Ns{90});
}

TEST(Contention, WithoutRecordedShapesNothingIsCompared) {
  TraceBuilder b;
  contended(b, 3, 0);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_TRUE(o->contention.empty());
}

TEST(Contention, AKernelThatVariesByItselfIsNotCompared) {
  TraceBuilder b;
  contended(b, 1, 400);
  const auto o = overlap_of(b);
  ASSERT_TRUE(o);
  EXPECT_TRUE(o->contention.empty());
}

}  // namespace

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/rank_index.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

TEST(RankIndex, AnEmptyTraceHasNoDeviceNoThreadAndNoSpan) {
  const RankIndex rank = index_rank(TraceBuilder().sealed());
  EXPECT_TRUE(rank.cpu_only());
  EXPECT_TRUE(rank.host_tracks.empty());
  EXPECT_FALSE(rank.main_track);
  EXPECT_EQ(rank.start, rank.end);
}

TEST(RankIndex, DeviceWorkIsKernelsAndCopiesOfAllStreamsByStart) {
  TraceBuilder b;
  b.row(b.stream(0, 20), Category::memcpy, "copy", 30, 90);
  b.kernel("b", 40, 50);
  b.kernel("a", 10, 20);
  b.row(b.stream(0, 20), Category::memset, "set", 5, 6);
  b.row(b.stream(0, 7), Category::sync, "Stream Wait Event", 0, 100);
  b.row(b.stream(0, 7), Category::gpu_annotation, "ProfilerStep#1", 0, 100);
  b.row(b.stream(0, 7), Category::device_event, "record", 0, 1);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  ASSERT_EQ(rank.devices.size(), 1u);
  const DeviceLane& lane = rank.devices[0];
  ASSERT_EQ(lane.ops.size(), 4u);
  EXPECT_EQ(trace.name(lane.ops[0]), "set");
  EXPECT_EQ(trace.name(lane.ops[1]), "a");
  EXPECT_EQ(trace.name(lane.ops[2]), "copy");
  EXPECT_EQ(trace.name(lane.ops[3]), "b");
  EXPECT_EQ(lane.start, Ns{5});
  EXPECT_EQ(lane.end, Ns{90});
}

TEST(RankIndex, EachGpuHasALaneInOrderOfItsIndex) {
  TraceBuilder b;
  b.row(b.stream(3, 7), Category::kernel, "late device", 0, 5);
  b.row(b.stream(1, 7), Category::kernel, "early device", 3, 9);
  const RankIndex rank = index_rank(b.sealed());
  ASSERT_EQ(rank.devices.size(), 2u);
  EXPECT_EQ(rank.devices[0].device, 1);
  EXPECT_EQ(rank.devices[1].device, 3);
}

TEST(RankIndex, AHostRowNeverCountsAsDeviceWork) {
  TraceBuilder b;
  b.op("triton_poi_fused_add", 0, 10);
  EXPECT_TRUE(index_rank(b.sealed()).cpu_only());
}

TEST(RankIndex, WorkIsJoinedToItsCallByCorrelationAndAGraphLaunchToAllItsKernels) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaGraphLaunch", 0, 4, 9);
  b.row(b.thread(2), Category::driver, "cuLaunchKernelEx", 5, 6, 10);
  b.kernel("g1", 10, 11, 9);
  b.kernel("g2", 11, 12, 9);
  b.kernel("d", 12, 13, 10);
  b.kernel("orphan", 13, 14, 77);
  b.kernel("uncorrelated", 14, 15);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const auto launched_by = [&](std::string_view op) { return rank.launch(find_slice(trace, op)); };
  EXPECT_EQ(launched_by("g1"), find_slice(trace, "cudaGraphLaunch"));
  EXPECT_EQ(launched_by("g2"), find_slice(trace, "cudaGraphLaunch"));
  EXPECT_EQ(launched_by("d"), find_slice(trace, "cuLaunchKernelEx"));
  EXPECT_EQ(launched_by("orphan"), no_slice);
  EXPECT_EQ(launched_by("uncorrelated"), no_slice);
  EXPECT_EQ(launched_by("cudaGraphLaunch"), no_slice);
}

TEST(RankIndex, AKernelThatSeemsToStartBeforeItsCallIsStillJoined) {
  TraceBuilder b;
  b.launch(3, 100, 110);
  b.kernel("k", 95, 99, 3);
  const Trace trace = b.sealed();
  EXPECT_EQ(index_rank(trace).launch(find_slice(trace, "k")),
            find_slice(trace, "cudaLaunchKernel"));
}

TEST(RankIndex, AReusedCorrelationIsToldApartByTime) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "first", 0, 1, 3);
  b.row(b.thread(1), Category::runtime, "second", 100, 101, 3);
  b.kernel("k1", 50, 51, 3);
  b.kernel("k2", 150, 151, 3);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  EXPECT_EQ(rank.launch(find_slice(trace, "k1")), find_slice(trace, "first"));
  EXPECT_EQ(rank.launch(find_slice(trace, "k2")), find_slice(trace, "second"));
}

TEST(RankIndex, ADriverCallInsideARuntimeCallOfOneCorrelationGivesWayToTheOuter) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaLaunchKernel", 0, 10, 3);
  b.row(b.thread(1), Category::driver, "cuLaunchKernel", 2, 8, 3);
  b.kernel("k", 50, 51, 3);
  const Trace trace = b.sealed();
  EXPECT_EQ(index_rank(trace).launch(find_slice(trace, "k")),
            find_slice(trace, "cudaLaunchKernel"));
}

TEST(RankIndex, TheMainThreadIsTheOneOfTheProfilerSteps) {
  TraceBuilder b;
  b.row(b.thread(2), Category::cpu_op, "aten::mm", 0, 1000);
  b.step("ProfilerStep#4", 0, 10);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  ASSERT_TRUE(rank.main_track);
  EXPECT_EQ(trace.track(*rank.main_track).tid, 1);
  EXPECT_EQ(rank.host_tracks.size(), 2u);
  EXPECT_EQ(rank.end, Ns{1000});
}

TEST(RankIndex, WithoutStepsTheBackwardThreadIsNotTheMainOne) {
  TraceBuilder b;
  b.op("aten::linear", 0, 100);
  b.row(b.thread(2), Category::cpu_op, "autograd::engine::evaluate_function: AddmmBackward0", 100,
        400);
  b.row(b.thread(2), Category::cpu_op, "aten::mm", 110, 390);
  b.row(b.thread(3), Category::cpu_op, "aten::copy_", 0, 30);
  b.row(b.thread(3), Category::cpu_op, "nested", 0, 30);
  b.row(b.thread(3), Category::cpu_op, "nested", 0, 30);
  b.row(b.thread(3), Category::cpu_op, "nested", 0, 30);
  const Trace trace = b.sealed();
  EXPECT_EQ(trace.track(*index_rank(trace).main_track).tid, 1);
}

TEST(RankIndex, AThreadThatOnlyWaitsInTheOperatingSystemIsNotTheMainOne) {
  TraceBuilder b;
  b.row(b.thread(5), Category::other, "poll", 0, 1000);
  b.row(b.thread(2), Category::user_annotation, "forward", 10, 60);
  b.row(b.thread(2), Category::runtime, "cudaLaunchKernel", 20, 30, 1);
  b.kernel("k", 30, 50, 1);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  ASSERT_TRUE(rank.main_track);
  EXPECT_EQ(trace.track(*rank.main_track).tid, 2);
}

// The recording begins after the first two launches.
TEST(RankIndex, WorkFromBeforeTheRecordingHasTheNumberOfItsCall) {
  TraceBuilder b;
  b.kernel("a", 0, 10, 40);
  b.kernel("b", 11, 20, 41);
  for (std::uint32_t i = 0; i < 3; ++i) {
    b.launch(50 + i, 5 + i, 6 + i);
    b.kernel("c", 21 + 10 * i, 30 + 10 * i, 50 + i);
  }
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  EXPECT_EQ(rank.unlaunched.size(), 2U);
  EXPECT_EQ(rank.launch_number(find_slice(trace, "a")), 40U);
  EXPECT_EQ(rank.launch_number(find_slice(trace, "b")), 41U);
  for (const SliceId op : rank.devices.front().ops)
    EXPECT_EQ(rank.launch_number(op) == 0, rank.launch(op) != no_slice);
}

// Numbers that fall along a stream are no order; without most launches nothing is known either.
TEST(RankIndex, NumbersThatAreNoOrderAreLeftOut) {
  TraceBuilder falling;
  falling.kernel("a", 0, 10, 41);
  falling.kernel("b", 11, 20, 40);
  for (std::uint32_t i = 0; i < 3; ++i) {
    falling.launch(50 + i, 5 + i, 6 + i);
    falling.kernel("c", 21 + 10 * i, 30 + 10 * i, 50 + i);
  }
  EXPECT_TRUE(index_rank(falling.sealed()).unlaunched.empty());
  TraceBuilder without;
  for (std::uint32_t i = 0; i < 3; ++i) without.kernel("c", 10 * i, 10 * i + 5, 50 + i);
  EXPECT_TRUE(index_rank(without.sealed()).unlaunched.empty());
}

TEST(LostLaunches, AreLaunchCallsWithoutADeviceRow) {
  TraceBuilder b;
  b.launch(1, 0, 1);
  b.kernel("a", 2, 3, 1);
  b.launch(2, 4, 5);
  b.launch(3, 6, 7);
  b.row(b.thread(1), Category::runtime, "cudaLaunchHostFunc", 8, 9, 4);
  b.row(b.thread(1), Category::runtime, "cudaMemcpyAsync", 9, 10, 5);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  ASSERT_EQ(rank.lost_launches.size(), 2u);
  EXPECT_EQ(trace.slices.start[index(rank.lost_launches[0])], Ns{4});
  EXPECT_EQ(trace.slices.start[index(rank.lost_launches[1])], Ns{6});
  EXPECT_FALSE(rank.device_unseen());
}

TEST(LostLaunches, IntoAGraphThatIsCapturedRunNothing) {
  TraceBuilder b;
  b.launch(1, 0, 1);
  b.kernel("a", 2, 3, 1);
  b.row(b.thread(1), Category::runtime, "cudaStreamBeginCapture", 4, 5);
  b.launch(2, 6, 7);
  b.row(b.thread(2), Category::runtime, "cudaLaunchKernel", 8, 9, 3);  // of the backward graph
  b.row(b.thread(1), Category::runtime, "cudaStreamEndCapture", 10, 11);
  b.launch(4, 12, 13);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  ASSERT_EQ(rank.lost_launches.size(), 1u);
  EXPECT_EQ(trace.slices.start[index(rank.lost_launches[0])], Ns{12});
}

TEST(LostLaunches, IntoTheLongerOfTwoCapturesRunNothing) {
  TraceBuilder b;
  b.launch(1, 0, 1);
  b.kernel("a", 2, 3, 1);
  b.row(b.thread(1), Category::runtime, "cudaStreamBeginCapture", 4, 5);
  b.row(b.thread(2), Category::runtime, "cudaStreamBeginCapture", 6, 7);
  b.row(b.thread(2), Category::runtime, "cudaStreamEndCapture", 8, 9);
  b.launch(2, 10, 11);
  b.row(b.thread(1), Category::runtime, "cudaStreamEndCapture", 12, 13);
  b.launch(3, 14, 15);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  ASSERT_EQ(rank.lost_launches.size(), 1u);
  EXPECT_EQ(trace.slices.start[index(rank.lost_launches[0])], Ns{14});
}

TEST(LostLaunches, ACallOfTheDriverInsideOneOfTheRuntimeIsTheSameLaunch) {
  TraceBuilder b;
  b.row(b.thread(1), Category::runtime, "cudaLaunchKernel", 0, 10, 1);
  b.row(b.thread(1), Category::driver, "cuLaunchKernel", 2, 8, 2);
  b.kernel("outer", 12, 13, 1);
  b.row(b.thread(1), Category::runtime, "cudaLaunchKernel", 20, 30, 3);
  b.row(b.thread(1), Category::driver, "cuLaunchKernel", 22, 28, 4);
  b.kernel("inner", 32, 33, 4);
  EXPECT_TRUE(index_rank(b.sealed()).lost_launches.empty());
}

TEST(LostLaunches, CallsThatTheWriterNeverJoinsAreNotLost) {
  TraceBuilder b;
  b.launch(1, 0, 1);
  b.kernel("a", 2, 3, 1);
  b.row(b.thread(1), Category::runtime, "hipGraphLaunch", 4, 5, 2);
  b.kernel("node", 6, 7);
  EXPECT_TRUE(index_rank(b.sealed()).lost_launches.empty());
}

TEST(LostLaunches, AreAllWhereNoDeviceIsRecorded) {
  TraceBuilder b;
  b.launch(0, 0, 1);
  b.op("aten::mm", 2, 3);
  const RankIndex rank = index_rank(b.sealed());
  EXPECT_EQ(rank.lost_launches.size(), 1u);
  EXPECT_TRUE(rank.device_unseen());
}

// The class of a kernel that is launched inside these rows, outermost first.
std::string kind(std::string_view kernel, const std::vector<std::string_view>& around,
                 std::string_view call = "cudaLaunchKernel") {
  TraceBuilder b;
  std::int64_t at = 0;
  for (const std::string_view name : around) {
    const bool annotation = name.starts_with("Optimizer") || name.find("::") == name.npos;
    b.row(b.thread(1),
          annotation && !name.ends_with("Backward0") ? Category::user_annotation : Category::cpu_op,
          name, at, 1000 - at);
    ++at;
  }
  b.row(b.thread(1), Category::runtime, call, 400, 410, 1);
  b.kernel(kernel, 500, 600, 1);
  Trace trace = b.sealed();
  classify_by_launch(trace, index_rank(trace));
  const SliceId op = find_slice(trace, kernel);
  return std::string(name_class_names[static_cast<std::size_t>(trace.slices.kind[index(op)])]);
}

TEST(launch_class, of_an_unknown_name_is_its_operators) {
  EXPECT_EQ(kind("mystery", {}), "other");
  EXPECT_EQ(kind("mystery", {"aten::mm"}), "matmul");
  EXPECT_EQ(kind("mystery", {"aten::linear", "aten::addmm"}), "matmul");
  EXPECT_EQ(kind("mystery", {"aten::_flash_attention_forward"}), "attention");
  EXPECT_EQ(kind("mystery", {"Optimizer.step#AdamW.step"}), "optimizer");
  EXPECT_EQ(kind("mystery", {"Optimizer.step#AdamW.step", "aten::mul_"}), "elementwise");
  EXPECT_EQ(kind("vectorized_gather_kernel", {"aten::embedding", "aten::index_select"}),
            "embedding");
  EXPECT_EQ(kind("vectorized_gather_kernel", {"aten::index_select"}), "other");
}

TEST(launch_class, gives_a_product_its_own_reductions_and_nothing_else) {
  const std::string_view sum = "void reduce_kernel<512, 1, ReduceOp<float>>(int)";
  EXPECT_EQ(kind(sum, {"aten::mm"}), "matmul");
  EXPECT_EQ(kind(sum, {"aten::sum"}), "reduction");
  EXPECT_EQ(kind("void softmax_warp_forward<float, float, float, 10, false, false>(int)",
                 {"aten::_scaled_dot_product_attention_math"}),
            "attention");
  EXPECT_EQ(kind("void cudnn::ops::nchwToNhwcKernel<float>(int)", {"aten::cudnn_convolution"}),
            "copy");
  EXPECT_EQ(kind("void vectorized_elementwise_kernel<4, AddFunctor<float>>(int)", {"aten::addmm"}),
            "elementwise");
  EXPECT_EQ(kind("volta_sgemm_128x64_nt", {"aten::softmax"}), "matmul");
}

// The gradient of a bias is a sum inside the node of the product.
TEST(launch_class, does_not_pass_products_through_other_operators) {
  EXPECT_EQ(kind("mystery", {"AddmmBackward0", "aten::unheard_of"}), "other");
  EXPECT_EQ(kind("mystery", {"aten::embedding_dense_backward", "aten::unheard_of"}), "embedding");
}

TEST(launch_class, asks_neither_communication_nor_ranges_nor_graphs) {
  EXPECT_EQ(kind("mystery", {"c10d::allreduce_"}), "other");
  EXPECT_EQ(kind("mystery", {"attention block"}), "other");
  EXPECT_EQ(kind("mystery", {"aten::mm"}, "cudaGraphLaunch"), "other");
}

}  // namespace

}  // namespace stepscope

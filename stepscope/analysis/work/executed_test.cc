// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/executed.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

Step numbered_step(std::int64_t n, std::int64_t start, std::int64_t end) {
  Step s = stepscope::step(start, end);
  s.index = n;
  return s;
}

Executed executed(WorkBuilder& builder, const std::vector<Step>& steps) {
  const Trace trace = builder.sealed();
  const RankIndex rank = index_rank(trace);
  return executed_work(trace, rank, steps, attribute_work(trace, rank));
}

const ExecutedProducts& in(const ExecutedStep& step, OperandFormat p) {
  return step.products[static_cast<std::size_t>(p)];
}

TEST(executed, books_flops_and_time_in_the_step_and_the_precision) {
  WorkBuilder b;
  b.mm(0, 20);
  b.launch_kernel(1, 5, "s16816gemm", 100, 140);
  b.mm(20, 40);
  b.launch_kernel(2, 25, "s16816gemm", 220, 240);
  const Executed e = executed(b, {numbered_step(7, 100, 200), numbered_step(8, 200, 300)});
  ASSERT_EQ(e.steps.size(), 2U);
  EXPECT_TRUE(e.any_shapes);
  EXPECT_EQ(e.steps[1].index, 8);
  EXPECT_DOUBLE_EQ(in(e.steps[0], OperandFormat::bf16).flops.value, mm_flops);
  EXPECT_EQ(in(e.steps[0], OperandFormat::bf16).time, Ns{40});
  EXPECT_EQ(e.steps[1].time(), Ns{20});
  EXPECT_DOUBLE_EQ(e.steps[0].flops().value, mm_flops);
}

TEST(executed, tells_tf32_from_fp32_by_the_kernel) {
  WorkBuilder b;
  const Call fp32{.dims = "[[128, 64], [64, 32]]", .types = R"(["float", "float"])"};
  b.call("aten::mm", 0, 20, fp32);
  b.launch_kernel(1, 5, "cutlass_80_tensorop_s1688gemm_128x128", 100, 110);
  b.call("aten::mm", 20, 40, fp32);
  b.launch_kernel(2, 25, "ampere_sgemm_128x64_nn", 110, 130);
  const Executed e = executed(b, {numbered_step(0, 0, 200)});
  EXPECT_EQ(in(e.steps[0], OperandFormat::tf32).time, Ns{10});
  EXPECT_EQ(in(e.steps[0], OperandFormat::fp32).time, Ns{20});
}

TEST(executed, keeps_products_of_unknown_size_apart) {
  WorkBuilder b;
  b.mm(0, 20);
  b.launch_kernel(1, 5, "s16816gemm", 100, 110);
  b.launch_kernel(2, 30, "ampere_bf16_s16816gemm", 110, 130);
  const Executed e = executed(b, {numbered_step(0, 0, 200)});
  EXPECT_EQ(e.steps[0].unknown_time(), Ns{20});
  EXPECT_EQ(in(e.steps[0], OperandFormat::bf16).unknown_kernels, 1U);
  EXPECT_EQ(e.steps[0].time(), Ns{10});
  EXPECT_EQ(e.steps[0].product_union, Ns{30});
}

TEST(executed, calls_neither_unknown_kernels_nor_waiting_memory_bound) {
  WorkBuilder b;
  b.kernel("gemm", 0, 10);
  b.kernel("mystery", 10, 40);
  b.kernel("softmax_kernel", 40, 50);
  b.kernel("event_wait", 50, 90);
  const Executed e = executed(b, {numbered_step(0, 0, 200)});
  EXPECT_EQ(e.steps[0].product_union, Ns{10});
  EXPECT_EQ(e.steps[0].unclassed_union, Ns{30});
  EXPECT_EQ(e.steps[0].other_union, Ns{10});
}

TEST(executed, unites_overlapping_kernels_and_leaves_communication_and_copies_out) {
  WorkBuilder b;
  b.kernel("gemm", 0, 60);
  b.row(b.stream(0, 9), Category::kernel, "elementwise_kernel", 40, 100);
  b.row(b.stream(0, 10), Category::kernel, "elementwise_kernel", 80, 120);
  b.row(b.stream(0, 11), Category::kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 180);
  b.row(b.stream(0, 12), Category::memcpy, "Memcpy DtoD (Device -> Device)", 150, 190);
  const Executed e = executed(b, {numbered_step(0, 10, 110)});
  EXPECT_EQ(e.steps[0].product_union, Ns{50});
  EXPECT_EQ(e.steps[0].other_union, Ns{50});
  EXPECT_EQ(e.steps[0].other_time, Ns{60 + 40});
  EXPECT_FALSE(e.any_shapes);
}

TEST(executed, counts_what_a_checkpoint_repeats) {
  WorkBuilder b;
  const std::string_view dims = "[[128, 64], [64, 32]]";
  b.call("autograd::engine::evaluate_function: CheckpointFunctionBackward", 0, 100,
         {.sequence = 5, .forward_thread = 1});
  b.call("aten::mm", 10, 30, {.dims = dims, .sequence = 9});
  b.launch_kernel(1, 15, "gemm", 200, 210);
  b.call("aten::mm", 40, 60, {.dims = dims});
  b.launch_kernel(2, 45, "gemm", 210, 240);
  const Executed e = executed(b, {numbered_step(0, 0, 300)});
  EXPECT_DOUBLE_EQ(e.steps[0].flops().value, 2 * mm_flops);
  EXPECT_DOUBLE_EQ(e.steps[0].recompute().value, mm_flops);
  EXPECT_EQ(in(e.steps[0], OperandFormat::other).recompute_time, Ns{10});
}

TEST(executed, measures_the_bytes_of_memory_bound_work) {
  WorkBuilder b;
  b.call("aten::add_", 0, 20,
         {.dims = "[[1000], [1000], []]", .types = R"(["float", "float", "Scalar"])"});
  b.launch_kernel(1, 5, "vectorized_elementwise_kernel", 100, 110);
  b.launch_kernel(2, 30, "vectorized_elementwise_kernel", 110, 130);
  const Executed e = executed(b, {numbered_step(0, 0, 200)});
  EXPECT_EQ(e.steps[0].other_bytes, Bytes{12000});
  EXPECT_EQ(e.steps[0].other_time_with_bytes, Ns{10});
  EXPECT_EQ(e.steps[0].other_time, Ns{30});
}

TEST(executed, takes_operators_for_kernels_on_a_cpu) {
  WorkBuilder b;
  b.call("aten::linear", 0, 100, {.dims = "[[128, 64], [32, 64]]"});
  b.mm(20, 80);
  const Executed e = executed(b, {numbered_step(0, 0, 200)});
  EXPECT_DOUBLE_EQ(e.steps[0].flops().value, mm_flops);
  EXPECT_EQ(e.steps[0].time(), Ns{60});
  EXPECT_EQ(e.steps[0].product_union, Ns{60});
}

}  // namespace
}  // namespace stepscope

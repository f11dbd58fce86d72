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
  EXPECT_EQ(in(e.steps[0], OperandFormat::bf16).unknown_time, Ns{20});
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

TEST(executed, takes_operators_for_kernels_on_a_cpu) {
  WorkBuilder b;
  b.call("aten::linear", 0, 100, {.dims = "[[128, 64], [32, 64]]"});
  b.mm(20, 80);
  const Executed e = executed(b, {numbered_step(0, 0, 200)});
  EXPECT_DOUBLE_EQ(e.steps[0].flops().value, mm_flops);
  EXPECT_EQ(e.steps[0].time(), Ns{60});
  EXPECT_EQ(e.steps[0].product_union, Ns{60});
}

struct OperatorRows {
  Trace trace;
  std::vector<OperatorRow> rows;

  OperatorRows(WorkBuilder& builder, const std::vector<Step>& steps) : trace(builder.sealed()) {
    const RankIndex rank = index_rank(trace);
    rows = operator_table(trace, rank, steps, attribute_work(trace, rank));
  }
  [[nodiscard]] const OperatorRow& row(std::string_view name, std::string_view dims = "") const {
    return row_where(rows, name, [&](const OperatorRow& r) {
      return trace.strings[r.name] == name && (dims.empty() || trace.strings[r.dims] == dims);
    });
  }
};

TEST(operators, have_their_calls_and_device_time_by_step_and_shape) {
  WorkBuilder b;
  b.mm(0, 10);
  b.launch_kernel(1, 5, "gemm", 20, 50);
  b.mm(60, 70);
  b.launch_kernel(2, 65, "gemm", 120, 160);
  b.mm(70, 80, "[[8, 8], [8, 8]]");
  b.launch_kernel(3, 75, "small", 160, 163);
  b.call("aten::mm", 80, 90, {.dims = "[[128, 64], [64, 32]]", .types = R"(["float", "float"])"});
  b.launch_kernel(4, 85, "sgemm", 170, 190);
  b.call("aten::view", 90, 95, {});
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const auto rows =
      operator_steps(trace, rank, std::vector{numbered_step(0, 0, 100), numbered_step(1, 100, 200)},
                     attribute_work(trace, rank));
  ASSERT_EQ(rows.size(), 2U) << "a view has no work";
  const OperatorSteps& large = rows[trace.strings[rows[0].dims].find("128") == 2 ? 0 : 1];
  EXPECT_EQ(trace.strings[large.name], "aten::mm");
  EXPECT_EQ(large.calls, (std::vector<std::uint64_t>{1, 2})) << "of any types";
  EXPECT_EQ(large.device, (std::vector<Ns>{Ns{30}, Ns{60}}));
}

TEST(operators, take_the_operators_inside_out_of_the_self_time) {
  WorkBuilder b;
  b.op("aten::linear", 0, 100);
  b.op("aten::t", 10, 20);
  b.op("aten::addmm", 30, 80);
  b.op("aten::expand", 40, 50);
  b.launch_kernel(1, 60, "gemm", 200, 230);
  const OperatorRows t(b, {step(0, 1000)});
  EXPECT_EQ(t.row("aten::linear").host_self, Ns{40});
  EXPECT_EQ(t.row("aten::addmm").host_self, Ns{40});
  EXPECT_EQ(t.row("aten::addmm").device, Ns{30});
  EXPECT_EQ(t.row("aten::addmm").share, 1.0);
  EXPECT_EQ(t.row("aten::linear").device, Ns{0});
  EXPECT_EQ(t.row("aten::linear").mean(), std::nullopt);
}

TEST(operators, never_subtract_more_than_the_overlap_of_rows_that_do_not_nest) {
  WorkBuilder b;
  b.op("outer", 0, 50);
  b.op("inner", 10, 40);
  b.op("late", 45, 90);
  b.kernel("k", 0, 1);
  const OperatorRows t(b, {step(0, 1000)});
  EXPECT_EQ(t.row("outer").host_self, Ns{50 - 30 - 5});
  EXPECT_EQ(t.row("late").host_self, Ns{45});
}

// A node of the backward graph that calls operators waits between them, as in the time budget.
TEST(operators, of_a_cpu_do_not_work_where_they_wait) {
  WorkBuilder b;
  b.op("RegisterPostBackwardFunctionBackward", 0, 100);
  b.op("aten::copy_", 10, 20);
  b.op("AddBackward0", 100, 130);
  const OperatorRows t(b, {step(0, 1000)});
  EXPECT_EQ(t.row("RegisterPostBackwardFunctionBackward").host_self, Ns{90});
  EXPECT_EQ(t.row("RegisterPostBackwardFunctionBackward").device, Ns{0});
  EXPECT_EQ(t.row("aten::copy_").device, Ns{10});
  EXPECT_EQ(t.row("AddBackward0").device, Ns{30}) << "it calls nothing";
}

TEST(operators, keep_shapes_apart_and_rate_each) {
  WorkBuilder b;
  b.mm(0, 20);
  b.launch_kernel(1, 5, "gemm", 100, 110);
  b.mm(20, 40);
  b.launch_kernel(2, 25, "gemm", 110, 140);
  b.mm(40, 60, "[[2, 2], [2, 2]]");
  b.launch_kernel(3, 45, "gemm", 140, 145);
  const OperatorRows t(b, {step(0, 1000)});
  const OperatorRow& large = t.row("aten::mm", "[[128, 64], [64, 32]]");
  EXPECT_EQ(large.calls, 2U);
  EXPECT_EQ(large.device, Ns{40});
  EXPECT_EQ(large.mean(), Ns{20});
  EXPECT_EQ(large.min, Ns{10});
  EXPECT_EQ(large.max, Ns{30});
  EXPECT_EQ(large.precision, OperandFormat::bf16);
  ASSERT_TRUE(large.flops && large.rate && large.bytes && large.bandwidth);
  EXPECT_DOUBLE_EQ(large.flops->value, 2 * mm_flops);
  EXPECT_DOUBLE_EQ(large.rate->value, 2 * mm_flops / 40e-9);
  EXPECT_EQ(large.bytes->value, 2 * mm_bytes);
  EXPECT_DOUBLE_EQ(t.row("aten::mm", "[[2, 2], [2, 2]]").flops->value, 16);
  EXPECT_EQ(t.rows.front().device, Ns{40});
}

TEST(operators, that_copy_over_the_host_have_a_row_with_the_bytes_that_they_moved) {
  WorkBuilder b;
  const Call call{.dims = "[[100], [100]]", .types = R"(["float", "float"])"};
  b.call("aten::copy_", 0, 20, call);
  b.launch(1, 5, 6);
  b.copy("Memcpy HtoD (Pageable -> Device)", 100, 140, 400, 1);
  b.call("aten::copy_", 20, 40, call);
  b.launch_kernel(2, 25, "vectorized_elementwise_kernel", 150, 160);
  const OperatorRows t(b, {step(0, 1000)});
  ASSERT_EQ(t.rows.size(), 2U);
  EXPECT_TRUE(t.rows[0].over_host);
  EXPECT_EQ(t.rows[0].bytes, Bytes{400});
  EXPECT_DOUBLE_EQ(t.rows[0].bandwidth->value, 10e9);
  EXPECT_FALSE(t.rows[1].over_host);
  EXPECT_EQ(t.rows[1].bytes, Bytes{800}) << "read and written";
}

TEST(operators, have_no_flops_where_the_shapes_are_missing) {
  WorkBuilder b;
  b.op("aten::mm", 0, 20);
  b.launch_kernel(1, 5, "gemm", 100, 110);
  const OperatorRows t(b, {step(0, 1000)});
  EXPECT_EQ(t.row("aten::mm").device_calls, 1U);
  EXPECT_FALSE(t.row("aten::mm").flops);
  EXPECT_FALSE(t.row("aten::mm").rate);
  EXPECT_FALSE(t.row("aten::mm").bytes);
}

TEST(operators, belong_to_the_step_that_runs_their_work) {
  WorkBuilder b;
  b.mm(0, 20);  // before the step on the host, inside it on the device
  b.launch_kernel(1, 5, "gemm", 150, 160);
  b.mm(120, 140);  // the other way round
  b.launch_kernel(2, 125, "gemm", 300, 310);
  b.op("aten::view", 130, 135);
  b.op("aten::t", 250, 260);
  const OperatorRows t(b, {step(100, 200)});
  EXPECT_EQ(t.row("aten::mm").calls, 1U);
  EXPECT_EQ(t.row("aten::mm").device, Ns{10});
  EXPECT_EQ(t.row("aten::view").calls, 1U);
  EXPECT_EQ(t.rows.size(), 2U);
}

TEST(operators, are_their_own_device_on_a_cpu) {
  WorkBuilder b;
  b.call("aten::linear", 0, 100,
         {.dims = "[[128, 64], [32, 64]]", .types = R"(["float", "float"])"});
  b.mm(20, 80);
  const OperatorRows t(b, {step(0, 1000)});
  EXPECT_EQ(t.row("aten::mm").device, Ns{60});
  EXPECT_DOUBLE_EQ(t.row("aten::mm").rate->value, mm_flops / 60e-9);
  EXPECT_EQ(t.row("aten::linear").device, Ns{40});
  EXPECT_FALSE(t.row("aten::linear").flops);
  EXPECT_DOUBLE_EQ(t.row("aten::mm").share, 0.6);
}

}  // namespace

}  // namespace stepscope

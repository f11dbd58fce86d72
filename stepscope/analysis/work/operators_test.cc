// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/operators.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

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

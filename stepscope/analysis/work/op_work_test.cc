// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/op_work.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

struct Attributed {
  Trace trace;
  OpWork work;

  explicit Attributed(WorkBuilder& builder)
      : trace(builder.sealed()), work(attribute_work(trace, index_rank(trace))) {}
  [[nodiscard]] const DeviceWork& of(std::string_view kernel) const {
    return row_where(work.device, kernel,
                     [&](const DeviceWork& d) { return trace.name(d.op) == kernel; });
  }
};

TEST(op_work, gives_a_kernel_to_the_deepest_operator_around_its_launch) {
  WorkBuilder b;
  b.call("aten::linear", 0, 100, {.dims = "[[128, 64], [32, 64], [32]]"});
  b.mm(10, 60);
  b.launch_kernel(1, 20, "ampere_bf16_s16816gemm", 200, 300);
  b.launch_kernel(2, 70, "elementwise_kernel", 300, 310);
  const Attributed a(b);
  EXPECT_EQ(a.of("ampere_bf16_s16816gemm").owner, find_slice(a.trace, "aten::mm"));
  EXPECT_EQ(a.of("elementwise_kernel").owner, find_slice(a.trace, "aten::linear"));
}

TEST(op_work, counts_nested_operators_once_at_the_innermost_that_knows) {
  WorkBuilder b;
  b.call("aten::linear", 0, 100, {.dims = "[[128, 64], [32, 64], [32]]"});
  b.mm(10, 60);
  b.launch_kernel(1, 20, "ampere_bf16_s16816gemm", 200, 300);
  b.launch_kernel(2, 70, "another_gemm", 300, 310);  // by aten::linear itself
  const Attributed a(b);
  EXPECT_TRUE(a.work.counts[index(find_slice(a.trace, "aten::mm"))]);
  EXPECT_FALSE(a.work.counts[index(find_slice(a.trace, "aten::linear"))]);
  EXPECT_EQ(a.of("ampere_bf16_s16816gemm").flops_share, 1.0F);
  EXPECT_EQ(a.of("another_gemm").flops_share, 0.0F);
}

TEST(op_work, shares_the_flops_of_a_call_by_time_among_its_products_only) {
  WorkBuilder b;
  b.mm(0, 100);
  b.launch_kernel(1, 10, "ampere_sgemm_a", 200, 230);
  b.launch_kernel(2, 20, "ampere_sgemm_b", 230, 240);
  b.launch_kernel(3, 30, "vectorized_elementwise_kernel", 240, 280);
  const Attributed a(b);
  EXPECT_FLOAT_EQ(a.of("ampere_sgemm_a").flops_share, 0.75F);
  EXPECT_FLOAT_EQ(a.of("ampere_sgemm_b").flops_share, 0.25F);
  EXPECT_EQ(a.of("vectorized_elementwise_kernel").flops_share, 0.0F);
  EXPECT_FLOAT_EQ(a.of("vectorized_elementwise_kernel").bytes_share, 0.5F);
  EXPECT_EQ(std::ranges::count(a.work.device, find_slice(a.trace, "aten::mm"), &DeviceWork::owner),
            3);
}

TEST(op_work, takes_the_longest_kernel_where_no_name_tells_the_product) {
  WorkBuilder b;
  b.mm(0, 100);
  b.launch_kernel(1, 10, "mystery", 200, 290);
  b.launch_kernel(2, 20, "other", 290, 300);
  const Attributed a(b);
  EXPECT_EQ(a.of("mystery").flops_share, 1.0F);
  EXPECT_EQ(a.of("other").flops_share, 0.0F);
}

TEST(op_work, falls_back_to_the_external_id_where_no_launch_row_is_left) {
  WorkBuilder b;
  b.call("aten::mm", 0, 100, {.dims = "[[128, 64], [64, 32]]"}, 7);
  b.call("aten::mm", 500, 600, {.dims = "[[128, 64], [64, 32]]"}, 7);
  Slice kernel;
  kernel.start = Ns{200};
  kernel.dur = Ns{10};
  kernel.name = b.trace().strings.intern("gemm");
  kernel.track = b.stream(0, 7);
  kernel.category = Category::kernel;
  kernel.external_id = 7;
  append(b.trace(), kernel);
  const Attributed a(b);
  ASSERT_EQ(a.work.device.size(), 1U);
  ASSERT_NE(a.work.device[0].owner, no_slice);
  EXPECT_EQ(a.trace.slices.start[index(a.work.device[0].owner)], Ns{0});
}

TEST(op_work, distrusts_external_ids_that_contradict_the_launches) {
  WorkBuilder b;
  b.call("aten::mm", 0, 100, {.dims = "[[128, 64], [64, 32]]"}, 7);
  b.call("aten::bmm", 100, 200, {}, 8);
  b.launch(3, 110, 111);
  const auto kernel = [&](std::string_view name, std::int64_t start, std::uint32_t correlation,
                          std::uint32_t id) {
    Slice slice;
    slice.start = Ns{start};
    slice.dur = Ns{10};
    slice.name = b.trace().strings.intern(name);
    slice.track = b.stream(0, 7);
    slice.category = Category::kernel;
    slice.correlation = correlation;
    slice.external_id = id;
    append(b.trace(), slice);
  };
  kernel("launched", 300, 3, 7);  // inside aten::bmm, but its id names aten::mm
  kernel("orphan", 310, 0, 8);
  const Attributed a(b);
  EXPECT_EQ(a.of("launched").owner, find_slice(a.trace, "aten::bmm"));
  EXPECT_EQ(a.of("orphan").owner, no_slice);
}

TEST(op_work, leaves_work_without_an_operator_alone) {
  WorkBuilder b;
  b.launch_kernel(1, 10, "gemm", 200, 290);
  b.kernel("gemm", 300, 310);
  const Attributed a(b);
  ASSERT_EQ(a.work.device.size(), 2U);
  EXPECT_EQ(a.work.device[0].owner, no_slice);
  EXPECT_EQ(a.work.device[1].flops_share, 0.0F);
}

TEST(op_work, follows_intervals_where_rows_overlap_without_nesting) {
  WorkBuilder b;
  b.op("first", 0, 50);
  b.op("second", 40, 90);
  b.launch_kernel(1, 45, "a", 200, 210);
  b.launch_kernel(2, 60, "b", 210, 220);
  b.launch_kernel(3, 95, "c", 220, 230);
  const Attributed a(b);
  EXPECT_EQ(a.of("a").owner, find_slice(a.trace, "second"));
  EXPECT_EQ(a.of("b").owner, find_slice(a.trace, "second"));
  EXPECT_EQ(a.of("c").owner, no_slice);
}

TEST(op_work, recognises_a_forward_that_a_backward_repeats) {
  WorkBuilder b;
  const std::string_view dims = "[[128, 64], [64, 32]]";
  b.call("aten::mm", 0, 10, {.dims = dims, .sequence = 4});
  b.call("autograd::engine::evaluate_function: CheckpointFunctionBackward", 100, 200,
         {.sequence = 5, .forward_thread = 1});
  b.call("aten::linear", 110, 130, {.dims = "[[128, 64], [32, 64]]", .sequence = 9});
  b.call("aten::bmm", 115, 120, {.dims = "[[1, 128, 64], [1, 64, 32]]"});
  b.call("autograd::engine::evaluate_function: MmBackward0", 140, 190,
         {.sequence = 9, .forward_thread = 1});
  b.call("aten::addmm", 150, 160, {.dims = "[[32], [128, 64], [64, 32]]"});
  const Attributed a(b);
  const auto repeated = [&](std::string_view name) {
    return a.work.recompute[index(find_slice(a.trace, name))];
  };
  EXPECT_FALSE(repeated("aten::mm"));
  EXPECT_TRUE(repeated("aten::linear"));
  EXPECT_TRUE(repeated("aten::bmm"));
  EXPECT_FALSE(repeated("aten::addmm"));
}

TEST(op_work, counts_the_innermost_operators_of_a_trace_without_a_device) {
  WorkBuilder b;
  b.call("aten::linear", 0, 100, {.dims = "[[128, 64], [32, 64], [32]]"});
  b.mm(10, 60);
  b.op("aten::add", 70, 80);
  const Attributed a(b);
  EXPECT_TRUE(a.work.counts[index(find_slice(a.trace, "aten::mm"))]);
  EXPECT_FALSE(a.work.counts[index(find_slice(a.trace, "aten::linear"))]);
  EXPECT_EQ(a.work.cost_of(a.trace, find_slice(a.trace, "aten::add")), nullptr);
}

TEST(op_work, has_no_cost_for_malformed_shapes) {
  WorkBuilder b;
  b.mm(0, 100, "[[128, 64], [64, 32]");
  b.launch_kernel(1, 10, "gemm", 200, 290);
  const Attributed a(b);
  EXPECT_EQ(a.work.cost_of(a.trace, find_slice(a.trace, "aten::mm")), nullptr);
  EXPECT_EQ(a.of("gemm").flops_share, 0.0F);
}

}  // namespace

}  // namespace stepscope

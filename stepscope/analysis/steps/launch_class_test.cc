// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/launch_class.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

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

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/op_flops.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace stepscope {
namespace {

OpCost cost(std::string_view name, std::string_view dims, std::string_view types = "",
            std::string_view concrete = "") {
  const auto inputs = parse_inputs(dims, types, concrete);
  EXPECT_TRUE(inputs) << name;
  return inputs ? op_cost(name, *inputs) : OpCost{};
}

double flops(std::string_view name, std::string_view dims, std::string_view concrete = "") {
  const OpCost c = cost(name, dims, "", concrete);
  return c.flops ? c.flops->value : -1;
}

TEST(op_flops, counts_two_for_each_multiply_add_of_a_product) {
  EXPECT_EQ(flops("aten::mm", "[[3, 5], [5, 7]]"), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::addmm", "[[7], [3, 5], [5, 7], [], []]"), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::bmm", "[[4, 3, 5], [4, 5, 7]]"), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::baddbmm", "[[4, 3, 7], [4, 3, 5], [4, 5, 7]]"), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::linear", "[[2, 3, 5], [7, 5], [7]]"), 2 * 6 * 5 * 7);
  EXPECT_EQ(flops("aten::_scaled_mm", "[[3, 5], [5, 7], [], []]"), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::_grouped_mm", "[[12, 5], [4, 5, 7], [4]]"), 2 * 12 * 5 * 7);
  EXPECT_EQ(flops("aten::_grouped_mm", "[[5, 12], [12, 7], [4]]"), 2 * 12 * 5 * 7);
  EXPECT_EQ(flops("aten::_grouped_mm", "[[4, 3, 5], [5, 12], [4]]"), 2 * 12 * 5 * 3);
  EXPECT_EQ(flops("aten::_grouped_mm", "[[4, 3, 5], [4, 5, 7]]"), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::_grouped_mm", "[[5, 12], [11, 7], [4]]"), -1);
  EXPECT_EQ(flops("aten::mv", "[[3, 5], [5]]"), 2 * 3 * 5);
  EXPECT_EQ(flops("aten::linear_backward", "[[6, 5], [6, 7], [7, 5], []]",
                  R"(["", "", "", "[True, True, True]"])"),
            2 * 2 * 6 * 5 * 7);
}

TEST(op_flops, counts_the_fused_head_of_the_engine) {
  EXPECT_EQ(flops("stepscope::linear_cross_entropy", "[[6, 5], [7, 5], [6]]"), 2 * 6 * 5 * 7);
  EXPECT_EQ(flops("stepscope::linear_cross_entropy_trained", "[[6, 5], [7, 5], [6]]"),
            3 * 2 * 6 * 5 * 7);
  EXPECT_EQ(flops("stepscope::linear_cross_entropy", "[[6, 5], [7, 4], [6]]"), -1);
}

TEST(op_flops, broadcasts_the_batches_of_matmul) {
  EXPECT_EQ(flops("aten::matmul", "[[8, 1, 3, 5], [4, 5, 7]]"), 8 * 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::matmul", "[[5], [5]]"), 2 * 5);
  EXPECT_EQ(flops("aten::matmul", "[[3, 5], [5]]"), 2 * 3 * 5);
  EXPECT_EQ(flops("aten::matmul", "[[2, 3, 5], [4, 5, 7]]"), -1);
}

TEST(op_flops, reads_an_einsum_only_when_it_is_a_contraction_of_two) {
  EXPECT_EQ(
      flops("aten::einsum", "[[], [[4, 3, 5], [4, 5, 7]], []]", R"(["bij,bjk->bik", "", ""])"),
      4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("aten::einsum", "[[], [[3], [5]], []]", R"(["i,j->ij", "", ""])"), -1);
  EXPECT_EQ(flops("aten::einsum", "[[], [[4, 3], [4, 5]], []]", R"(["...i,...j->...ij", "", ""])"),
            -1);
}

TEST(op_flops, has_no_answer_for_shapes_that_do_not_fit_and_for_other_operators) {
  EXPECT_EQ(flops("aten::mm", "[[3, 5], [6, 7]]"), -1);
  EXPECT_EQ(flops("aten::mm", "[[3, 5]]"), -1);
  EXPECT_EQ(flops("aten::mm", "[[], []]"), -1);
  EXPECT_EQ(flops("aten::bmm", "[[4, 3, 5], [2, 5, 7]]"), -1);
  EXPECT_EQ(flops("aten::add", "[[3, 5], [3, 5]]"), -1);
  EXPECT_EQ(flops("mylib::mm", "[[3, 5], [5, 7]]"), -1);
}

constexpr auto conv_values =
    R"(["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"])";

TEST(op_flops, follows_stride_padding_and_dilation_of_a_convolution) {
  // ResNet's first layer: 224 → 112.
  EXPECT_EQ(flops("aten::convolution",
                  "[[8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]", conv_values),
            2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_EQ(flops("aten::cudnn_convolution", "[[8, 3, 224, 224], [64, 3, 7, 7], [], [], [], []]",
                  R"(["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1"])"),
            2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_EQ(flops("aten::conv2d", "[[1, 4, 9, 9], [6, 4, 3, 3], [], [], [], [], []]",
                  R"(["", "", "", "[1]", "[0]", "[2]", "1"])"),
            2.0 * 6 * 5 * 5 * 4 * 9);
  EXPECT_EQ(flops("aten::conv2d", "[[1, 4, 9, 9], [6, 4, 3, 3], [], [], [], [], []]",
                  R"(["", "", "", "[1]", "same", "[1]", "1"])"),
            2.0 * 6 * 9 * 9 * 4 * 9);
}

TEST(op_flops, finds_the_groups_in_the_weight) {
  EXPECT_EQ(flops("aten::conv2d", "[[1, 32, 8, 8], [32, 1, 3, 3], [], [], [], [], []]",
                  R"(["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "32"])"),
            2.0 * 32 * 8 * 8 * 1 * 9);
}

TEST(op_flops, slides_a_transposed_convolution_over_its_input) {
  EXPECT_EQ(flops("aten::convolution", "[[2, 16, 5, 5], [16, 8, 4, 4], [], [], [], [], [], [], []]",
                  R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"])"),
            2.0 * 2 * 16 * 25 * 8 * 16);
}

TEST(op_flops, counts_the_gradients_that_the_mask_asks_for) {
  const std::string dims =
      "[[8, 64, 112, 112], [8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], [], []]";
  const std::string head =
      R"(["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", ")";
  const double one = 2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7;
  EXPECT_EQ(flops("aten::convolution_backward", dims, head + R"([True, True, False]"])"), 2 * one);
  EXPECT_EQ(flops("aten::convolution_backward", dims, head + R"([False, True, True]"])"), one);
  EXPECT_EQ(flops("aten::convolution_backward", dims), -1);
  EXPECT_EQ(
      flops("aten::cudnn_convolution_backward_input", "[[], [8, 64, 112, 112], [64, 3, 7, 7]]"),
      one);
  EXPECT_EQ(flops("aten::convolution", "[[8, 3, 224, 224], [64, 3, 7, 7]]"), -1);
}

TEST(op_flops, halves_causal_attention) {
  const std::string dims = "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], [], [], [], []]";
  const double full = 2.0 * 2 * 8 * 128 * 128 * (64 + 64);
  EXPECT_EQ(flops("aten::_scaled_dot_product_flash_attention", dims,
                  R"(["", "", "", "0.", "False", "False", ""])"),
            full);
  EXPECT_EQ(flops("aten::_scaled_dot_product_flash_attention", dims,
                  R"(["", "", "", "0.", "True", "False", ""])"),
            full / 2);
  EXPECT_EQ(flops("aten::_scaled_dot_product_flash_attention", dims), -1);
}

std::string values(std::size_t count, std::size_t at, const std::string& value,
                   const std::string& next = "") {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    text += std::string(i == 0 ? "\"" : ", \"") +
            (i == at       ? value
             : i == at + 1 ? next
                           : "") +
            "\"";
  }
  return text + "]";
}

TEST(op_flops, counts_five_products_of_an_attention_backward_one_of_them_recompute) {
  std::string dims =
      "[[2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64], [2, 8, 128, 64]";
  for (int i = 5; i < 15; ++i) dims += ", []";
  const OpCost c = cost("aten::_scaled_dot_product_flash_attention_backward", dims + "]", "",
                        values(15, 11, "False"));
  const double one = 2.0 * 2 * 8 * 128 * 128 * 64;
  ASSERT_TRUE(c.flops);
  EXPECT_EQ(c.flops->value, 5 * one);
  EXPECT_EQ(c.recompute.value, one);
}

TEST(op_flops, knows_heads_last_layouts_windows_and_rectangular_masks) {
  const std::string dims = "[[1, 100, 4, 8], [1, 100, 4, 8], [1, 100, 4, 8], [], [], [], [], []]";
  const double pair = 2.0 * 4 * 16;
  EXPECT_EQ(flops("flash_attn::_flash_attn_forward", dims,
                  R"(["", "", "", "0.", "1.", "True", "-1", "-1"])"),
            pair * 5000);
  // A window of 20 back: 20·100 − 20²/2.
  EXPECT_EQ(flops("flash_attn::_flash_attn_forward", dims,
                  R"(["", "", "", "0.", "1.", "True", "20", "0"])"),
            pair * 1800);
  // One new query against 100 keys sees (almost) all of them.
  EXPECT_EQ(flops("aten::_scaled_dot_product_flash_attention",
                  "[[1, 4, 1, 8], [1, 4, 100, 8], [1, 4, 100, 8], [], []]", values(5, 4, "True")),
            pair * 99.5);
}

TEST(op_flops, has_no_answer_for_packed_sequences_whose_lengths_are_data) {
  const std::string values15 = values(15, 8, "True");
  const std::string tail = ", [], [], [], [], [], [], [], [], [], []]";
  EXPECT_EQ(flops("aten::_flash_attention_forward",
                  "[[64, 4, 8], [64, 4, 8], [64, 4, 8], [5], [5]" + tail, values15),
            -1);
  EXPECT_EQ(flops("aten::_flash_attention_forward",
                  "[[1, 64, 4, 8], [1, 64, 4, 8], [1, 64, 4, 8], [], []" + tail, values15),
            2.0 * 4 * 16 * 64 * 64 / 2);
}

std::int64_t bytes(std::string_view name, std::string_view dims, std::string_view types,
                   std::string_view concrete = "") {
  const OpCost c = cost(name, dims, types, concrete);
  return c.bytes ? c.bytes->value : -1;
}

TEST(op_bytes, reads_every_input_and_writes_every_output_once) {
  EXPECT_EQ(bytes("aten::add", "[[8, 16], [16], []]", R"(["float", "float", "Scalar"])"),
            4 * (128 + 16 + 128));
  EXPECT_EQ(bytes("aten::add_", "[[8, 16], [8, 16], []]", R"(["float", "c10::Half", "Scalar"])"),
            4 * 128 + 2 * 128 + 4 * 128);
  EXPECT_EQ(bytes("aten::gt", "[[8, 16], []]", R"(["float", "Scalar"])"), 4 * 128 + 128);
  EXPECT_EQ(bytes("aten::copy_", "[[8, 16], [8, 16], []]", R"(["c10::Half", "float", "Scalar"])"),
            6 * 128);
  EXPECT_EQ(bytes("aten::zero_", "[[8, 16]]", R"(["float"])"), 4 * 128);
  EXPECT_EQ(bytes("aten::sum", "[[8, 16], [], []]", R"(["float", "ScalarList", "Scalar"])",
                  R"(["", "[0]", "True"])"),
            4 * 128 + 4 * 16);
  EXPECT_EQ(bytes("aten::sum", "[[8, 16]]", R"(["float"])"), 4 * 128 + 4);
  EXPECT_EQ(bytes("aten::mm", "[[3, 5], [5, 7]]", R"(["c10::BFloat16", "c10::BFloat16"])"),
            2 * (15 + 35 + 21));
  EXPECT_EQ(bytes("aten::embedding", "[[1000, 64], [4, 8]]", R"(["float", "long int"])"),
            32 * 8 + 2 * 4 * 32 * 64);
  EXPECT_EQ(bytes("aten::native_layer_norm", "[[4, 64], [], [64], [64], []]",
                  R"(["float", "ScalarList", "float", "float", "Scalar"])"),
            4 * (256 + 128 + 256));
}

TEST(op_bytes, counts_the_output_of_a_product_once_however_it_is_passed) {
  const std::string bf16 = R"("c10::BFloat16")";
  EXPECT_EQ(
      bytes("aten::mm", "[[3, 5], [5, 7], [3, 7]]", "[" + bf16 + ", " + bf16 + ", " + bf16 + "]"),
      2 * (15 + 35 + 21));
  EXPECT_EQ(
      bytes("aten::addmm", "[[7], [3, 5], [5, 7]]", "[" + bf16 + ", " + bf16 + ", " + bf16 + "]"),
      2 * (7 + 15 + 35 + 21));
  EXPECT_EQ(
      bytes("aten::_scaled_mm", "[[3, 5], [5, 7], [], [], [], [], []]",
            R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar"])",
            R"(["", "", "", "", "", "", "15"])"),
      15 + 35 + 2 * 21);
}

TEST(op_bytes, sums_the_arguments_of_a_fused_kernel_that_touches_them_all) {
  const auto fused = [](const char* name, const char* sizes) {
    return bytes(name, "[[8, 16], [8, 16], [], []]",
                 R"(["float", "c10::Half", "Scalar", "Scalar"])", sizes);
  };
  EXPECT_EQ(fused("triton_poi_fused_mul_0", R"(["", "", "128", ""])"), 6 * 128);
  EXPECT_EQ(fused("triton_red_fused_sum_0", R"(["", "", "8", "16"])"), 6 * 128);
  EXPECT_EQ(fused("triton_poi_fused_embedding_0", R"(["", "", "128", ""])"), -1);
  EXPECT_EQ(fused("triton_poi_fused_mm_2", R"(["", "", "24", ""])"), -1) << "it pads some columns";
  EXPECT_EQ(fused("triton_poi_fused_mul_0", R"(["", "", "", ""])"), -1) << "no sizes";
}

TEST(op_bytes, has_no_answer_without_types_or_for_unknown_outputs) {
  EXPECT_EQ(bytes("aten::add", "[[8, 16], [8, 16]]", ""), -1);
  EXPECT_EQ(
      bytes("aten::_foreach_add_", "[[], [], []]", R"(["TensorList", "TensorList", "Scalar"])"),
      -1);
  EXPECT_EQ(bytes("aten::topk", "[[8, 16], []]", R"(["float", "Scalar"])"), -1);
  EXPECT_EQ(bytes("aten::add", "[[8, 16], [7]]", R"(["float", "float"])"), -1);
}

TEST(op_cost, survives_any_shapes_of_any_operator) {
  constexpr auto names =
      std::to_array<std::string_view>({"aten::mm",
                                       "aten::addmm",
                                       "aten::bmm",
                                       "aten::linear",
                                       "aten::matmul",
                                       "aten::_scaled_mm",
                                       "aten::einsum",
                                       "aten::conv2d",
                                       "aten::convolution",
                                       "aten::convolution_backward",
                                       "aten::cudnn_convolution_backward_weight",
                                       "aten::_scaled_dot_product_flash_attention",
                                       "aten::_efficient_attention_backward",
                                       "aten::add",
                                       "aten::sum",
                                       "aten::embedding",
                                       "aten::copy_",
                                       "aten::linear_backward",
                                       "aten::_grouped_mm",
                                       "triton_poi_fused_mul_0"});
  constexpr auto sizes =
      std::to_array<std::int64_t>({0, 1, 2, 7, 1 << 20, std::int64_t{1} << 40, INT64_MAX});
  constexpr auto values =
      std::to_array<std::string_view>({"", "True", "[1, 1]", "[-9223372036854775808]", "[0, 0]",
                                       "9223372036854775807", "ij,jk->ik", "[True, False, True]"});
  std::uint64_t state = 1;
  const auto pick = [&](std::size_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  std::size_t known = 0;
  for (int round = 0; round < 20000; ++round) {
    OpInputs inputs;
    for (std::size_t i = pick(16); i > 0; --i) {
      OpInput& input = inputs.args.emplace_back();
      for (std::size_t d = pick(5); d > 0; --d) input.dims.push_back(sizes[pick(sizes.size())]);
      if (pick(4) == 0) input.list.assign(2, input.dims);
      input.type = pick(3) == 0 ? "Scalar" : "float";
      input.concrete = values[pick(values.size())];
    }
    const OpCost c = op_cost(names[pick(names.size())], inputs);
    EXPECT_GE(c.flops.value_or(Flops{}).value, 0);
    EXPECT_GE(c.bytes.value_or(Bytes{}).value, 0);
    known += c.flops || c.bytes ? 1U : 0U;
  }
  EXPECT_GT(known, 1000U);
}

TEST(op_cost, takes_the_precision_of_the_first_tensor) {
  EXPECT_EQ(cost("aten::mm", "[[3, 5], [5, 7]]", R"(["c10::BFloat16", "c10::BFloat16"])").precision,
            OperandFormat::bf16);
  EXPECT_EQ(cost("aten::mm", "[[], []]", R"(["Scalar", ""])").precision, OperandFormat::other);
}

}  // namespace

}  // namespace stepscope

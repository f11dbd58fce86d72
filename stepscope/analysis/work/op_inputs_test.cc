// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/op_inputs.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

TEST(op_inputs, reads_shapes_types_and_values_of_a_call) {
  const auto inputs = parse_inputs(
      "[[8, 16], [16, 4], []]", R"(["float", "c10::BFloat16", "Scalar"])", R"(["", "", "True"])");
  ASSERT_TRUE(inputs);
  ASSERT_EQ(inputs->args.size(), 3U);
  EXPECT_EQ(*inputs->tensor(0), (Dims{8, 16}));
  EXPECT_EQ(inputs->args[1].type, "c10::BFloat16");
  EXPECT_EQ(inputs->tensor(2), nullptr);
  EXPECT_EQ(inputs->flag(2), true);
  EXPECT_EQ(inputs->flag(0), std::nullopt);
  EXPECT_EQ(inputs->tensor(3), nullptr);
}

TEST(op_inputs, tells_a_list_of_tensors_from_a_tensor) {
  const auto inputs = parse_inputs("[[[2, 3], [4]], [5]]", R"(["TensorList", "float"])", "");
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->args[0].list, (std::vector<Dims>{{2, 3}, {4}}));
  EXPECT_EQ(inputs->tensor(0), nullptr);
  EXPECT_EQ(*inputs->tensor(1), (Dims{5}));
}

TEST(op_inputs, lets_shapes_stand_alone) {
  const auto inputs = parse_inputs("[[8,16],[16,4]]", "", "");
  ASSERT_TRUE(inputs);
  EXPECT_EQ(*inputs->tensor(1, 2), (Dims{16, 4}));
  EXPECT_EQ(inputs->tensor(1, 3), nullptr);
}

TEST(op_inputs, reads_arrays_that_a_writer_indented) {
  const auto inputs = parse_inputs("[\n  [\n    8,\r\n    16\n  ]\n]", "[\n\t\"float\"\n]", "");
  ASSERT_TRUE(inputs);
  EXPECT_EQ(*inputs->tensor(0), (Dims{8, 16}));
}

TEST(op_inputs, reads_lists_of_numbers_and_of_flags) {
  const auto inputs =
      parse_inputs("[[], [], [], []]", "", R"(["[2, -1]", "[True, False, True]", "[]", "7"])");
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->integers(0), (Dims{2, -1}));
  EXPECT_EQ(inputs->flags(1), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(inputs->integers(2), Dims{});
  EXPECT_EQ(inputs->integer(3), 7);
  EXPECT_EQ(inputs->integers(3), std::nullopt);
  EXPECT_EQ(inputs->flags(0), std::nullopt);
}

TEST(op_inputs, refuses_what_the_profiler_does_not_write) {
  for (const std::string dims :
       {"", "[", "]", "8", "[8", "[[8]", "[[8,]]", "[[8],]", "[[a]]", "[[1.5]]", "[[-3]]",
        "[[8]] x", "[[[[1]]]]", "[[1, [2]]]", "[[99999999999999999999]]", "{}", "null"}) {
    EXPECT_FALSE(parse_inputs(dims, "", "")) << dims;
  }
  EXPECT_FALSE(parse_inputs("[[8]]", R"(["float", "float"])", ""));
  EXPECT_FALSE(parse_inputs("[[8]]", R"(["float)", ""));
  EXPECT_FALSE(parse_inputs("[[8]]", "[float]", ""));
  EXPECT_FALSE(parse_inputs("[[8]]", "", R"(["\)"));
}

TEST(op_inputs, survives_every_prefix_and_every_single_broken_byte) {
  const std::string dims = "[[8, 16], [[2], []], []]";
  const std::string types = R"(["float", "TensorList", ""])";
  ASSERT_TRUE(parse_inputs(dims, types, types));
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    EXPECT_FALSE(parse_inputs(dims.substr(0, i), types, types));
    for (const char c : {'[', ']', ',', '"', '-', 'x', '\0'}) {
      std::string broken = dims;
      broken[i] = c;
      accepted += parse_inputs(broken, types, types).has_value() ? 1U : 0U;
    }
  }
  EXPECT_LT(accepted, dims.size());
  for (std::size_t i = 1; i < types.size(); ++i)
    EXPECT_FALSE(parse_inputs(dims, types.substr(0, i), ""));
}

TEST(op_inputs, knows_the_width_of_every_element_and_says_so_when_it_does_not) {
  EXPECT_EQ(element_bytes("c10::Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("c10::Half"), 2);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Scalar"), std::nullopt);
  EXPECT_EQ(element_bytes(""), std::nullopt);
  EXPECT_EQ(precision_of("c10::BFloat16"), OperandFormat::bf16);
  EXPECT_EQ(precision_of("TensorList"), OperandFormat::other);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({1L << 40, 1L << 40}), std::nullopt);
}

}  // namespace
}  // namespace stepscope

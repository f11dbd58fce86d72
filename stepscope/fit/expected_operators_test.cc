// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_operators.h"

#include <gtest/gtest.h>

#include "stepscope/cost/time/compute_time.h"

namespace stepscope {
namespace {

// 100 TFLOP/s, and large products reach 80 % of it; 1 TB/s of memory. Attention reaches half of the
// peak, its backward 80 % of that.
constexpr std::string_view tiny_machine_text = R"({
  "name": "plain", "peak_tflops": {"bf16": 100, "fp32": 10, "tf32": 50}, "memory_gb": 80,
  "memory_gb_per_s": 1000,
  "compute": {"source": "by definition", "units": 100,
    "matmul_efficiency": {"bf16": 0.8, "fp32": 0.8, "tf32": 0.8},
    "attention_efficiency": {"bf16": 0.5}, "vendor_attention_efficiency": {"bf16": 0.7},
    "launch_us": 5, "matmul_launch_us": 7, "memory_efficiency": 0.5, "matmul_memory_share": 1,
    "tail": 0, "misaligned": 2, "attention_backward": 0.8, "roofline_power": 1,
    "cast": 3, "contention": 0, "host_layer_us": 0, "host_head_layers": 0,
    "host_power": 1, "host_power_tp": 1, "optimizer_us": 0},
  "sources": ["none"]})";

struct Rank {
  StringPool strings;
  RankResult result;

  Rank() { result.strings = &strings; }
  OperatorRow& add(std::string_view name, NameClass kind, std::string_view dims,
                   OperandFormat precision, std::uint64_t calls, Ns device) {
    OperatorRow row;
    row.name = strings.intern(name);
    row.dims = strings.intern(dims);
    row.kind = kind;
    row.precision = precision;
    row.calls = row.device_calls = calls;
    row.device = device;
    return result.work.operators.emplace_back(row);
  }
  [[nodiscard]] ExpectedOperators expected() const {
    const Machine machine = *parse_machine(tiny_machine_text, "plain.json");
    const auto e = expected_operators(result, machine);
    EXPECT_TRUE(e) << (e ? "" : e.error().message());
    return *e;
  }
};

TEST(ExpectedOperators, AProductTakesItsArithmeticAndItsTraffic) {
  Rank rank;
  OperatorRow& mm = rank.add("aten::mm", NameClass::matmul, "[[1024, 512], [512, 2048]]",
                             OperandFormat::bf16, 10, Ns{1'000'000});
  const double flops = 2.0 * 1024 * 512 * 2048;
  const double bytes = 2.0 * (1024 * 512 + 512 * 2048 + 1024 * 2048);
  mm.flops = Flops{10 * flops};
  mm.bytes = Bytes{static_cast<std::int64_t>(10 * bytes)};
  const ExpectedOperators e = rank.expected();
  ASSERT_EQ(e.operators.size(), 1U);
  const double one = flops / (100e12 * 0.8) + bytes / (1e12 * 0.5);  // no launch
  EXPECT_NEAR(e.operators[0].expected, 10 * one, 1e-15);
  EXPECT_EQ(e.operators[0].measured, 1e-3);
  EXPECT_NEAR(e.operators[0].ratio(), 1e-3 / (10 * one), 1e-9);
}

TEST(ExpectedOperators, ADimensionThatIsNoMultipleOfEightIsSlower) {
  Rank rank;
  rank.add("aten::mm", NameClass::matmul, "[[1024, 511], [511, 2048]]", OperandFormat::bf16, 1,
           Ns{1'000'000})
      .flops = Flops{2.0 * 1024 * 511 * 2048};
  EXPECT_NEAR(rank.expected().operators.at(0).expected,
              2 * 2.0 * 1024 * 511 * 2048 / (100e12 * 0.8), 1e-12);
}

TEST(ExpectedOperators, Fp32ProductsOfTensorCoresAreTf32) {
  Rank rank;
  rank.add("aten::mm", NameClass::matmul, "[[1024, 512], [512, 2048]]", OperandFormat::fp32, 1,
           Ns{1'000'000})
      .flops = Flops{2e9};
  EXPECT_NEAR(rank.expected().operators.at(0).expected, 2e9 / (10e12 * 0.8), 1e-12);
  rank.result.work.executed.steps.emplace_back()
      .products[static_cast<std::size_t>(OperandFormat::tf32)]
      .time = Ns{5};
  EXPECT_NEAR(rank.expected().operators.at(0).expected, 2e9 / (50e12 * 0.8), 1e-12);
}

TEST(ExpectedOperators, AttentionRunsAtItsOwnShareOfThePeak) {
  Rank rank;
  const auto add = [&](std::string_view name) {
    rank.add(name, NameClass::attention, "[]", OperandFormat::bf16, 1, Ns{1'000'000}).flops =
        Flops{1e12};
  };
  add("aten::_flash_attention_forward");
  add("aten::_flash_attention_backward");
  add("aten::_scaled_dot_product_cudnn_attention");
  const ExpectedOperators e = rank.expected();
  std::map<std::string, double> by_name;
  for (const ExpectedOperator& o : e.operators)
    by_name[std::string(rank.strings[o.row->name])] = o.expected;
  EXPECT_NEAR(by_name["aten::_flash_attention_forward"], 0.01 / 0.5, 1e-12);
  EXPECT_NEAR(by_name["aten::_flash_attention_backward"], 0.01 / 0.5 / 0.8, 1e-12);
  EXPECT_NEAR(by_name["aten::_scaled_dot_product_cudnn_attention"], 0.01 / 0.7, 1e-12);
}

TEST(ExpectedOperators, CopiesBetweenHostAndDeviceTakeTheLinkOfTheHost) {
  Rank rank;
  OperatorRow& copy =
      rank.add("aten::copy_", NameClass::copy, "[[100]]", OperandFormat::fp32, 2, Ns{400'000});
  copy.bytes = Bytes{4'000'000};
  copy.over_host = true;
  EXPECT_TRUE(rank.expected().operators.empty()) << "no rate of the host";
  Machine machine = *parse_machine(tiny_machine_text, "plain.json");
  machine.host.emplace().per_direction = ByteRate{20e9};
  const auto e = expected_operators(rank.result, machine);
  ASSERT_TRUE(e);
  EXPECT_NEAR(e->operators.at(0).expected, 4e6 / 20e9, 1e-12);
}

TEST(ExpectedOperators, OthersMoveTheirBytes) {
  Rank rank;
  rank.add("aten::gelu", NameClass::elementwise, "[[1000]]", OperandFormat::bf16, 4, Ns{400})
      .bytes = Bytes{4'000'000};
  rank.add("aten::_softmax", NameClass::other, "[[2000]]", OperandFormat::bf16, 1, Ns{90'000})
      .bytes = Bytes{8'000'000};
  const ExpectedOperators e = rank.expected();
  EXPECT_NEAR(e.operators.at(0).expected, 8e6 / 0.5e12, 1e-15);
  EXPECT_NEAR(e.operators.at(1).expected, 4e6 / 0.5e12, 1e-15);
}

// Four bytes move in 8 ps; the kernel that moves them takes longer.
TEST(ExpectedOperators, AKernelIsNotExpectedToTakeLessThanAnEmptyOne) {
  Rank rank;
  OperatorRow& copy =
      rank.add("aten::copy_", NameClass::copy, "[[1], [1]]", OperandFormat::fp32, 10, Ns{20'000});
  copy.bytes = Bytes{40};
  const ExpectedOperators e = rank.expected();
  ASSERT_EQ(e.operators.size(), 1U);
  EXPECT_NEAR(e.operators[0].expected, 10 * 1.5e-6, 1e-12);
}

TEST(ExpectedOperators, ClassesSumTheirOperatorsAndKeepApartWhatHasNoExpectation) {
  Rank rank;
  rank.add("aten::mm", NameClass::matmul, "[[8, 8], [8, 8]]", OperandFormat::bf16, 1, Ns{1000})
      .flops = Flops{1e6};
  rank.add("aten::bmm", NameClass::matmul, "", OperandFormat::bf16, 1, Ns{3000}).flops = Flops{2e6};
  rank.add("aten::mm", NameClass::matmul, "", OperandFormat::other, 1, Ns{500});
  rank.add("aten::cudnn_convolution", NameClass::matmul, "", OperandFormat::bf16, 1, Ns{700})
      .flops = Flops{1e9};
  rank.add("aten::add", NameClass::elementwise, "", OperandFormat::bf16, 1, Ns{40});
  const ExpectedOperators e = rank.expected();
  ASSERT_EQ(e.classes.size(), 1U);
  EXPECT_EQ(e.classes[0].kind, NameClass::matmul);
  EXPECT_NEAR(e.classes[0].measured, 4e-6, 1e-18);
  EXPECT_NEAR(e.classes[0].unknown, 1.2e-6, 1e-18) << "no FLOPs, and a convolution";
  double expected = 0;
  for (const ExpectedOperator& o : e.operators) expected += o.expected;
  EXPECT_EQ(e.classes[0].expected, expected);
  EXPECT_TRUE(std::ranges::is_sorted(e.operators, std::greater<>(), &ExpectedOperator::gap));
}

TEST(ExpectedOperators, AFormatThatTheMachineLacksIsAnErrorOnlyWhereNothingElseIsKnown) {
  Rank rank;
  rank.add("aten::mm", NameClass::matmul, "[[8, 8], [8, 8]]", OperandFormat::fp16, 1, Ns{1000})
      .flops = Flops{1e6};
  const Machine machine = *parse_machine(tiny_machine_text, "plain.json");
  const auto e = expected_operators(rank.result, machine);
  ASSERT_FALSE(e);
  EXPECT_NE(e.error().message().find("peak_tflops.fp16"), std::string::npos);
  rank.add("aten::gelu", NameClass::elementwise, "[[8]]", OperandFormat::fp16, 1, Ns{9}).bytes =
      Bytes{64};
  EXPECT_EQ(rank.expected().operators.size(), 1U);
}

MatmulShape shape(std::string_view name, std::string_view dims) {
  const auto inputs = parse_inputs(dims, "", "");
  return product_shape(name, inputs.value()).value_or(MatmulShape{.batch = -1});
}

bool same(MatmulShape a, MatmulShape b) {
  return a.batch == b.batch && a.m == b.m && a.n == b.n && a.k == b.k;
}

TEST(ProductShape, IsThatOfTheOperatorsMatrices) {
  EXPECT_TRUE(same(shape("aten::mm", "[[2, 3], [3, 5]]"), {1, 2, 5, 3}));
  EXPECT_TRUE(same(shape("aten::addmm", "[[5], [2, 3], [3, 5]]"), {1, 2, 5, 3}));
  EXPECT_TRUE(same(shape("aten::bmm", "[[7, 2, 3], [7, 3, 5]]"), {7, 2, 5, 3}));
  EXPECT_TRUE(same(shape("aten::baddbmm", "[[7, 2, 5], [7, 2, 3], [7, 3, 5]]"), {7, 2, 5, 3}));
  EXPECT_TRUE(same(shape("aten::linear", "[[4, 2, 3], [5, 3], [5]]"), {1, 8, 5, 3}));
  EXPECT_EQ(shape("aten::einsum", "[[2, 3], [3, 5]]").batch, -1);
  EXPECT_EQ(shape("mm", "[[2, 3], [3, 5]]").batch, -1) << "somebody else's";
  EXPECT_EQ(shape("aten::mm", "[[2, 3]]").batch, -1);
}

}  // namespace
}  // namespace stepscope

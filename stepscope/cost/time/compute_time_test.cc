// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/compute_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/cost/machine/ideal_test_machine.h"

namespace stepscope {
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

ComputeModel model_of(const std::string& json, Dtype dtype = Dtype::bf16) {
  const auto machine = parse_machine(json, "test.json");
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().message());
  const auto model = make_compute_model(*machine, dtype);
  EXPECT_TRUE(model) << (model ? "" : model.error().message());
  return *model;
}

Operation matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  Operation operation{.name = "fc1", .kind = OperationClass::matmul};
  operation.forward.matmuls = {{.m = m, .n = n, .k = k}};
  operation.forward.matrix =
      Flops{2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
  operation.forward.input_bytes = 2 * static_cast<double>(m * k);
  operation.forward.weight_bytes = 2 * static_cast<double>(k * n);
  operation.forward.output_bytes = 2 * static_cast<double>(m * n);
  operation.backward = operation.forward;
  return operation;
}

double forward(const ComputeModel& model, const Operation& operation) {
  return operation_time(model, operation, Direction::forward).count();
}

TEST(ComputeTime, WithoutLossesIsTheRoofline) {
  const ComputeModel model = model_of(std::string(ideal_machine));
  EXPECT_TRUE(model.assumptions.empty());
  const Operation large = matmul(2048, 12288, 12288);
  EXPECT_DOUBLE_EQ(forward(model, large), large.forward.matrix.value / 312e12);
  const Operation thin = matmul(1, 4096, 4096);
  EXPECT_DOUBLE_EQ(forward(model, thin), thin.forward.bytes() / 1555e9);
  Operation softmax{.name = "softmax", .kind = OperationClass::softmax};
  softmax.forward.vector = Flops{1e12};
  softmax.forward.input_bytes = 1e6;
  EXPECT_DOUBLE_EQ(forward(model, softmax), 1e12 / 78e12);
}

TEST(ComputeTime, CountsTheFlopsOfTheOperationNotOfTheShapes) {
  const ComputeModel model = model_of(std::string(ideal_machine));
  Operation adds = matmul(2048, 12288, 12288);
  adds.forward.matrix = Flops{2048.0 * 12288 * (2 * 12288 - 1)};
  EXPECT_NEAR(forward(model, adds) / (adds.forward.matrix.value / 312e12), 1, 1e-14);
}

TEST(ComputeTime, EachLossStandsWhereTheFormulaSays) {
  const Operation product = matmul(1024, 2048, 512);
  const double flops = product.forward.matrix.value / 312e12;
  const double traffic = product.forward.bytes() / 1555e9;
  const auto time = [&](const std::string& from, const std::string& to) {
    return forward(model_of(with(std::string(ideal_machine), from, to)), product);
  };
  // 64 tiles of 256 x 128, their depth in 8 parts: 512 pieces of work for 5 x 108 units.
  EXPECT_NEAR(time("\"tail\": 0", "\"tail\": 1"), flops * 540 / 512, 1e-15);
  EXPECT_NEAR(time("\"tail\": 0", "\"tail\": 0.5"), flops * (1 + 0.5 * 28 / 512), 1e-15);
  // A tile whose start takes as long as its depth is not split: 512 of 64 x 64, which load 8/3 as
  // much per element as 256 x 128 (of whose time loads are a fifth).
  EXPECT_NEAR(time("\"tail\": 0, \"fill\": 0", "\"tail\": 1, \"fill\": 512"),
              flops * 2 * 540 / 512 * (0.8 + 0.2 * 8 / 3), 1e-15);
  EXPECT_NEAR(
      time("\"matmul_efficiency\": {\"bf16\": 1}", "\"matmul_efficiency\": {\"bf16\": 0.5}"),
      flops * 2, 1e-15);
  EXPECT_NEAR(time("\"matmul_launch_us\": 0", "\"matmul_launch_us\": 4"), flops + 4e-6, 1e-15);
  EXPECT_NEAR(time("\"roofline_power\": 1000", "\"roofline_power\": 1"), flops + traffic, 1e-15);
  EXPECT_NEAR(time("\"roofline_power\": 1000", "\"roofline_power\": 2"), std::hypot(flops, traffic),
              1e-15);
}

TEST(ComputeTime, AMisalignedMatmulIsSlower) {
  const std::string json =
      with(std::string(ideal_machine), "\"misaligned\": 1", "\"misaligned\": 3");
  const Operation odd = matmul(2048, 50257, 12288);
  EXPECT_NEAR(forward(model_of(json), odd) / forward(model_of(std::string(ideal_machine)), odd), 3,
              1e-12);
}

TEST(ComputeTime, MoreNeverTakesLess) {
  const auto machine = find_machine("NVIDIA A100-SXM4-80GB");
  ASSERT_NE(machine, nullptr);
  const auto model = make_compute_model(*machine, Dtype::bf16);
  ASSERT_TRUE(model) << model.error().message();
  double before = 0;
  for (std::int64_t k = 64; k <= 65536; k *= 2) {
    const double time = forward(*model, matmul(2048, 4096, k));
    EXPECT_GT(time, before);
    before = time;
  }
}

TEST(ComputeTime, NarrowFormatsPayForCastsAndLeaveAttentionAndTheHeadIn16Bits) {
  std::string json =
      with(std::string(ideal_machine), "\"bf16\": 312", "\"bf16\": 312, \"fp8\": 624");
  json = with(json, "\"matmul_efficiency\": {\"bf16\": 1}",
              "\"matmul_efficiency\": {\"bf16\": 1, \"fp8\": 1}");
  json = with(json, "\"cast\": 0", "\"cast\": 2");
  const ComputeModel model = model_of(json, Dtype::fp8);
  const Operation product = matmul(2048, 12288, 12288);
  EXPECT_NEAR(forward(model, product),
              product.forward.matrix.value / 624e12 + 2 * product.forward.input_bytes / 1555e9,
              1e-15);
  EXPECT_NEAR(operation_time(model, product, Direction::forward, true).count(),
              product.forward.matrix.value / 312e12, 1e-15);
}

TEST(ComputeTime, UnfusedAttentionIsMadeOfMatmulsAndFusedOneOfOneKernel) {
  const std::string json =
      with(std::string(ideal_machine), "\"attention_efficiency\": {\"bf16\": 1}",
           "\"attention_efficiency\": {\"bf16\": 0.5}");
  const ComputeModel model = model_of(json);
  Operation core{.name = "attention", .kind = OperationClass::attention};
  core.forward.matmuls = {{.batch = 8, .m = 2048, .n = 2048, .k = 128}};
  core.forward.matrix = Flops{1e12};
  EXPECT_NEAR(forward(model, core), 1e12 / 312e12, 1e-15);
  core.forward.matmuls.push_back({.batch = 8, .m = 2048, .n = 128, .k = 2048});
  EXPECT_NEAR(forward(model, core), 2 * 1e12 / 312e12, 1e-15);
  core.backward = core.forward;
  EXPECT_NEAR(operation_time(
                  model_of(with(json, "\"attention_backward\": 1", "\"attention_backward\": 0.5")),
                  core, Direction::backward)
                  .count(),
              4 * 1e12 / 312e12, 1e-15);
}

TEST(ComputeTime, AHostThatIsSlowerThanTheDeviceSetsThePace) {
  const ComputeModel strict = model_of(std::string(ideal_machine));
  EXPECT_EQ(host_excess(strict, 2e-3, 1e-3, false), 0);
  EXPECT_DOUBLE_EQ(host_excess(strict, 2e-3, 3e-3, false), 1e-3);
  const ComputeModel jitter =
      model_of(with(std::string(ideal_machine), "\"host_power_tp\": 1000", "\"host_power_tp\": 2"));
  EXPECT_DOUBLE_EQ(host_excess(jitter, 4e-3, 3e-3, true), 1e-3);
  EXPECT_EQ(host_excess(jitter, 4e-3, 3e-3, false), 0);
}

TEST(ComputeTime, SaysWhichFigureItHadToAssume) {
  const ComputeModel model = model_of(R"({"name": "bare", "peak_tflops": {"bf16": 100},
    "matmul_max_tflops": {"bf16": 80}, "memory_gb_per_s": 1000, "sources": ["none"]})");
  EXPECT_DOUBLE_EQ(model.matmul.efficiency, 0.9 * 0.8);
  const auto says = [&model](std::string_view word) {
    return std::ranges::any_of(model.assumptions, [word](const TakenValue& value) {
      return value.text().find(word) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("matmul_efficiency.bf16 = 0.72, 0.9 of its largest measured matmul"));
  EXPECT_TRUE(says("compute.launch_us"));
  EXPECT_TRUE(says("compute.units"));
  EXPECT_TRUE(says("peak_tflops.fp32"));
}

TEST(ComputeTime, TakesTheVectorRateOfTheFormatOrThatOfFp32) {
  const auto machine = parse_machine(R"({"name": "x", "sources": ["none"],
    "peak_tflops": {"fp32": 20, "fp16": 300, "bf16": 300}, "vector_tflops": {"fp16": 80},
    "memory_gb_per_s": 1000})",
                                     "x.json");
  ASSERT_TRUE(machine);
  EXPECT_EQ(make_compute_model(*machine, Dtype::fp16)->vector_rate, 80e12);
  EXPECT_EQ(make_compute_model(*machine, Dtype::bf16)->vector_rate, 20e12);
  EXPECT_EQ(make_compute_model(*machine, Dtype::fp32)->vector_rate, 20e12);
  EXPECT_EQ(make_compute_model(*machine, Dtype::fp32)->matmul.peak, 20e12);
}

TEST(ComputeTime, AnUnknownRateIsAnErrorThatNamesTheField) {
  const auto no_rate =
      parse_machine(R"({"name": "x", "peak_tflops": {"bf16": 1}, "sources": ["none"]})", "x.json");
  ASSERT_TRUE(no_rate);
  const auto model = make_compute_model(*no_rate, Dtype::bf16);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().what.find("memory_gb_per_s"), std::string::npos);
  const auto no_peak = make_compute_model(*no_rate, Dtype::fp8);
  ASSERT_FALSE(no_peak);
  EXPECT_NE(no_peak.error().what.find("peak_tflops.fp8"), std::string::npos);
}

TEST(MachineCompute, RefusesWhatItDoesNotKnow) {
  const auto refused = [](const std::string& from, const std::string& to, std::string_view why) {
    const auto machine = parse_machine(with(std::string(ideal_machine), from, to), "test.json");
    ASSERT_FALSE(machine) << to;
    EXPECT_NE(machine.error().message().find(why), std::string::npos) << machine.error().message();
  };
  refused("\"tail\": 0", "\"tial\": 0", "compute.tial");
  refused("\"tail\": 0", "\"tail\": -1", "compute.tail");
  refused("\"tail\": 0", "\"tail\": \"long\"", "compute.tail");
  refused("\"memory_efficiency\": 1", "\"memory_efficiency\": 1.5", "compute.memory_efficiency");
  refused("{\"bf16\": 1}", "{\"bf17\": 1}", "compute.matmul_efficiency.bf17");
  refused("{\"bf16\": 1}", "{\"bf16\": 1.2}", "compute.matmul_efficiency.bf16");
  refused("\"source\": \"by definition\", ", "", "compute.source");
}

TEST(MachineHost, IsReadWithItsDrives) {
  const auto machine = parse_machine(R"({"name": "x", "peak_tflops": {}, "sources": ["none"],
    "host": {"gb_per_s_per_direction": 25, "memory_gb_per_s": 20, "memory_gb": 128},
    "nvme": {"read_gb_per_s": 3, "write_gb_per_s": 1.5, "capacity_gb": 900}})",
                                     "x.json");
  ASSERT_TRUE(machine) << machine.error().message();
  EXPECT_EQ(machine->host->per_direction, ByteRate{25e9});
  EXPECT_EQ(machine->host->memory, Bytes{128'000'000'000});
  EXPECT_EQ(machine->nvme->write, ByteRate{1.5e9});
  EXPECT_EQ(machine->nvme->capacity, Bytes{900'000'000'000});
  const auto wrong = parse_machine(
      R"({"name": "x", "peak_tflops": {}, "sources": ["none"], "nvme": {"read": 3}})", "x.json");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("nvme.read"), std::string::npos);
}

// Eight products in one kernel share its waves; in eight kernels each has its own.
TEST(ComputeTime, ProductsOfSingleExpertsAreKernelsOfTheirOwn) {
  const ComputeModel model =
      *make_compute_model(*find_machine("H100-80GB SXM"), Dtype::bf16, false);
  Operation op{.name = "expert_fc1", .kind = OperationClass::matmul};
  const MatmulShape shape{.batch = 8, .m = 1000, .n = 1536, .k = 2048};
  op.forward.matmuls = {shape};
  op.forward.matrix = {2.0 * 8 * 1000 * 1536 * 2048};
  const double grouped = operation_time(model, op, Direction::forward, false).count();
  op.forward.kernels = 8;
  const double single = operation_time(model, op, Direction::forward, false).count();
  const double launches = 7 * of(model, ComputeParameter::matmul_launch_us) * 1e-6;
  EXPECT_GT(single, grouped + launches);
  MatmulShape one = shape;
  one.batch = 1;
  op.forward.matmuls = {one};
  op.forward.matrix = {2.0 * 1000 * 1536 * 2048};
  op.forward.kernels = 1;
  EXPECT_NEAR(single, 8 * operation_time(model, op, Direction::forward, false).count(), 1e-12);
}

}  // namespace
}  // namespace stepscope

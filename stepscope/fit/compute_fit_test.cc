// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/compute_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stepscope {
namespace {

Machine core() {
  const auto machine = parse_machine(
      R"({"name": "core", "peak_tflops": {"fp32": 0.1174, "bf16": 0.2352},
          "memory_gb_per_s": 20, "sources": ["test"],
          "compute": {"units": 1,
                      "matmul_efficiency": {"fp32": 0.93, "bf16": 0.81},
                      "attention_efficiency": {"fp32": 0.42, "bf16": 0.3},
                      "attention_backward": 0.6,
                      "launch_us": 0.8, "matmul_launch_us": 2.5, "memory_efficiency": 0.65,
                      "matmul_memory_share": 0.2, "tail": 0, "fill": 0, "misaligned": 1,
                      "roofline_power": 1, "source": "test"}})",
      "core.json");
  EXPECT_TRUE(machine) << machine.error().message();
  return *machine;
}

Operation product(std::int64_t m, std::int64_t n, std::int64_t k, double element) {
  Operation op{.name = "product", .kind = OperationClass::matmul};
  const auto bytes = [&](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a * b) * element;
  };
  op.forward = {.matrix = Flops{2.0 * static_cast<double>(m) * static_cast<double>(n) *
                                static_cast<double>(k)},
                .input_bytes = bytes(m, k),
                .weight_bytes = bytes(n, k),
                .output_bytes = bytes(m, n),
                .matmuls = {{.m = m, .n = n, .k = k}}};
  return op;
}

Operation attention(std::int64_t tokens, std::int64_t heads, std::int64_t size, double element) {
  Operation op{.name = "attention", .kind = OperationClass::attention};
  const MatmulShape scores{.batch = heads, .m = tokens, .n = tokens, .k = size};
  const MatmulShape values{.batch = heads, .m = tokens, .n = size, .k = tokens};
  const double flops = 2.0 * static_cast<double>(tokens * tokens * size * heads);
  const double bytes = static_cast<double>(tokens * heads * size) * element;
  op.forward = {.matrix = Flops{flops},
                .input_bytes = 3 * bytes,
                .output_bytes = bytes,
                .matmuls = {scores, values}};
  op.backward = {.matrix = Flops{2.5 * flops},
                 .input_bytes = bytes,
                 .output_bytes = 3 * bytes,
                 .other_bytes = 4 * bytes,
                 .matmuls = {scores, values}};
  return op;
}

Operation pass_over(double bytes) {
  Operation op{.name = "pass", .kind = OperationClass::pointwise};
  op.forward = {.input_bytes = bytes / 2, .output_bytes = bytes / 2};
  return op;
}

std::vector<OperationTiming> timed(const Machine& machine) {
  std::vector<OperationTiming> timings;
  const auto add = [&](Dtype dtype, Operation op, Direction direction) {
    const auto model = make_compute_model(machine, dtype);
    EXPECT_TRUE(model) << model.error().message();
    const Seconds time = operation_time(*model, op, direction);
    timings.push_back({dtype, std::move(op), direction, time});
  };
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    const double element = dtype == Dtype::fp32 ? 4 : 2;
    for (const std::int64_t size : {16, 64, 128, 256, 768, 1024}) {
      add(dtype, product(size, size, size, element), Direction::forward);
      add(dtype, product(4 * size, size, 64, element), Direction::forward);
    }
    for (const std::int64_t tokens : {64, 256, 1024}) {
      add(dtype, attention(tokens, 12, 64, element), Direction::forward);
      add(dtype, attention(tokens, 12, 64, element), Direction::backward);
    }
    for (const double bytes : {1e3, 1e5, 1e7}) add(dtype, pass_over(bytes), Direction::forward);
  }
  return timings;
}

// Timings computed by the formulas give back the numbers behind them.
TEST(ComputeFit, FindsTheNumbersBehindTheTimings) {
  const Machine truth = core();
  Machine unknown = truth;
  unknown.compute.reset();
  const ComputeFit fit = fit_core(unknown, timed(truth));
  EXPECT_LT(fit.mean_error, 1e-3);
  const auto near = [](double found, double expected) {
    EXPECT_NEAR(found / expected, 1, 0.02) << expected;
  };
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    near(*fit.curves.matmul_efficiency[index(dtype)],
         *truth.compute->matmul_efficiency[index(dtype)]);
    near(*fit.curves.attention_efficiency[index(dtype)],
         *truth.compute->attention_efficiency[index(dtype)]);
  }
  using enum ComputeParameter;
  for (const ComputeParameter p :
       {launch_us, matmul_launch_us, memory_efficiency, matmul_memory_share, attention_backward}) {
    const auto at = static_cast<std::size_t>(p);
    near(*fit.curves.values[at], *truth.compute->values[at]);
  }
}

TEST(ComputeFit, LeavesAbsentWhatNoTimingTells) {
  const Machine truth = core();
  std::vector<OperationTiming> timings = timed(truth);
  std::erase_if(timings, [](const OperationTiming& t) {
    return t.operation.kind != OperationClass::matmul || t.dtype != Dtype::fp32;
  });
  const ComputeFit fit = fit_core(truth, timings);
  EXPECT_TRUE(fit.curves.matmul_efficiency[index(Dtype::fp32)]);
  EXPECT_FALSE(fit.curves.matmul_efficiency[index(Dtype::bf16)]);
  EXPECT_FALSE(fit.curves.attention_efficiency[index(Dtype::fp32)]);
  EXPECT_FALSE(fit.curves.values[static_cast<std::size_t>(ComputeParameter::memory_efficiency)]);
  EXPECT_EQ(fit.curves.units, 1);
}

// One timing of three times the true value does not distort the others.
TEST(ComputeFit, HoldsAnOutlierDown) {
  const Machine truth = core();
  std::vector<OperationTiming> timings = timed(truth);
  timings[4].time *= 3;
  const ComputeFit fit = fit_core(truth, timings);
  EXPECT_NEAR(*fit.curves.matmul_efficiency[index(Dtype::fp32)], 0.93, 0.04);
}

TEST(ComputeFit, AMachineSaysWhatItWouldTake) {
  std::vector<OperationTiming> timings;
  timings.push_back({Dtype::fp32, product(512, 512, 512, 4), Direction::forward, Seconds{1}});
  timings.push_back({Dtype::fp16, product(512, 512, 512, 2), Direction::forward, Seconds{1}});
  const auto times = modelled_times(core(), timings);
  ASSERT_EQ(times.size(), 2U);
  ASSERT_TRUE(times[0]);
  EXPECT_GT(times[0]->count(), 2.0 * 512 * 512 * 512 / 0.1174e12);
  Machine without = core();
  without.peak_rates = {};
  EXPECT_FALSE(modelled_times(without, timings)[0]);
}

}  // namespace
}  // namespace stepscope

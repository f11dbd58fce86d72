// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/kernels/kernel_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "stepscope/cost/step/offload_time.h"

namespace stepscope {
namespace {

using enum ComputeParameter;

Machine h200() {
  const auto machine = machine_named("h200_sxm");
  check(machine.has_value(), "the catalogue has it");
  return *machine;
}

KernelTime product(std::string format, std::int64_t m, std::int64_t k, std::int64_t n,
                   double seconds = 1) {
  return {.kind = KernelKind::product,
          .format = std::move(format),
          .m = m,
          .k = k,
          .n = n,
          .time = Seconds{seconds}};
}

KernelTime attention(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t size,
                     double forward = 1, double backward = 1) {
  return {.kind = KernelKind::attention,
          .batch = batch,
          .heads = heads,
          .length = length,
          .size = size,
          .time = Seconds{forward},
          .backward = Seconds{backward}};
}

KernelTime pass(std::string work, double bytes, double seconds = 1) {
  const KernelKind kind = work.empty() ? KernelKind::copy : KernelKind::pointwise;
  return {.kind = kind, .work = std::move(work), .amount = bytes, .time = Seconds{seconds}};
}

double of(const Machine& machine, ComputeParameter p) {
  return machine.compute->values[static_cast<std::size_t>(p)].value_or(-1);
}

void set(Machine& machine, ComputeParameter p, double value) {
  machine.compute->values[static_cast<std::size_t>(p)] = value;
}

// Kernels of every kind with the times that `truth` has for them.
KernelTimes kernels_of(Machine truth) {
  KernelTimes file{.path = "kernels.jsonl", .device = "NVIDIA H200", .units = 132};
  for (const auto& [k, n] : {std::pair{768, 3072}, {2048, 16384}, {8192, 2048}, {4096, 6144}})
    for (const int m : {256, 1024, 4096, 16384})
      for (const char* format : {"bf16", "fp8"}) file.kernels.push_back(product(format, m, k, n));
  for (const int m : {1024, 4096}) file.kernels.push_back(product("bf16", m, 768, 50257));
  file.kernels.push_back(product("bf16", 4096, 50257, 768));
  for (const auto& [length, size] : {std::pair{1024, 64}, {2048, 64}, {2048, 128}, {8192, 128}})
    file.kernels.push_back(attention(4, 16, length, size));
  for (const double bytes : {1e6, 1e8, 1e9})
    for (const char* work : {"", "add", "cast_add", "half_of_rows"})
      file.kernels.push_back(pass(work, bytes));
  for (const double weights : {1e8, 1e9})
    file.kernels.push_back({.kind = KernelKind::optimizer, .amount = weights, .time = Seconds{1}});
  set(truth, cast, 0);
  for (const KernelTiming& t : kernel_timings(file.kernels)) {
    const auto model = make_compute_model(truth, t.timing.dtype);
    const Seconds time = operation_time(*model, t.timing.operation, t.timing.direction);
    KernelTime& kernel = file.kernels[t.kernel];
    (t.timing.direction == Direction::forward ? kernel.time : kernel.backward) = time;
  }
  for (KernelTime& k : file.kernels)
    if (k.kind == KernelKind::optimizer)
      k.time = Seconds{
          optimizer_time<double>(*make_compute_model(truth, Dtype::bf16), {}, {}, k.amount).update};
  return file;
}

TEST(KernelFit, FindsTheNumbersThatMadeTheTimes) {
  Machine truth = h200();
  truth.compute->units = 132;
  truth.compute->matmul_efficiency[index(Dtype::bf16)] = 0.9;
  truth.compute->matmul_efficiency[index(Dtype::fp8)] = 0.75;
  truth.compute->attention_efficiency[index(Dtype::bf16)] = 0.6;
  for (const auto& [p, value] : {std::pair{memory_efficiency, 0.9},
                                 {launch_us, 3.0},
                                 {matmul_launch_us, 4.0},
                                 {matmul_memory_share, 0.3},
                                 {fill, 60.0},
                                 {misaligned, 5.0},
                                 {misaligned_fill, 300.0},
                                 {attention_backward, 0.7},
                                 {softmax, 3.0},
                                 {attention_edge, 200.0},
                                 {attention_edge_backward, 500.0},
                                 {strided, 2.5},
                                 {mixed, 1.5},
                                 {optimizer, 1.4},
                                 {optimizer_us, 80.0}})
    set(truth, p, value);
  const KernelTimes file = kernels_of(truth);
  const auto fit = fit_kernels(h200(), std::vector{file}, "a test");
  ASSERT_TRUE(fit) << fit.error().message();
  EXPECT_LT(fit->median_error, 0.002);
  EXPECT_TRUE(fit->unmeasured.empty());
  EXPECT_GT(fit->median_before, 0.1);
  const Machine& found = fit->machine;
  EXPECT_EQ(found.compute->units, 132);
  EXPECT_NEAR(*found.compute->matmul_efficiency[index(Dtype::bf16)], 0.9, 0.01);
  EXPECT_NEAR(*found.compute->matmul_efficiency[index(Dtype::fp8)], 0.75, 0.01);
  EXPECT_NEAR(*found.compute->attention_efficiency[index(Dtype::bf16)], 0.6, 0.02);
  for (const auto p : {memory_efficiency, launch_us, matmul_launch_us, fill, misaligned,
                       misaligned_fill, softmax, strided, mixed, optimizer, optimizer_us})
    EXPECT_NEAR(of(found, p) / of(truth, p), 1, 0.06)
        << compute_parameters[static_cast<std::size_t>(p)].name;
  // The chip's fp16 runs on the same units, and the catalogue's own numbers stay.
  EXPECT_EQ(found.compute->matmul_efficiency[index(Dtype::fp16)],
            found.compute->matmul_efficiency[index(Dtype::bf16)]);
  EXPECT_EQ(of(found, host_layer_us), of(h200(), host_layer_us));
  EXPECT_EQ(of(found, cast), of(h200(), cast));
  EXPECT_TRUE(std::ranges::find(fit->kept, "host_layer_us") != fit->kept.end());
  EXPECT_TRUE(std::ranges::find(fit->kept, "softmax") == fit->kept.end());
}

TEST(KernelFit, ADeviceWithoutACountOfUnitsStillExplainsItsProducts) {
  Machine truth = h200();
  truth.compute->units = 132;
  KernelTimes file = kernels_of(truth);
  file.units.reset();
  const auto fit = fit_kernels(h200(), std::vector{file}, "a test");
  ASSERT_TRUE(fit) << fit.error().message();
  EXPECT_LT(fit->median_error, 0.02);
}

TEST(KernelFit, WhatTheFileDoesNotTellStays) {
  KernelTimes file{.path = "k", .kernels = {product("bf16", 4096, 4096, 4096, 2.2e-4)}};
  const auto fit = fit_kernels(h200(), std::vector{file}, "a test");
  ASSERT_TRUE(fit) << fit.error().message();
  ASSERT_EQ(fit->kinds.size(), 1U);
  EXPECT_LT(fit->kinds[0].worst, 1e-3) << "one number explains one time";
  EXPECT_EQ(fit->unmeasured,
            (std::vector<std::string>{"attention", "passes over memory", "optimizer"}));
  for (const auto p : {fill, misaligned, memory_efficiency, softmax, optimizer})
    EXPECT_EQ(of(fit->machine, p), of(h200(), p));
  EXPECT_EQ(fit->machine.compute->vendor_attention_efficiency,
            h200().compute->vendor_attention_efficiency);
}

TEST(KernelFit, TimesThatTellNothingAreAnError) {
  KernelTimes file{.path = "k"};
  file.kernels = {{.kind = KernelKind::launch, .add_host = Seconds{1e-5}}};
  const auto fit = fit_kernels(h200(), std::vector{file}, "a test");
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message().find("no kernel's time"), std::string::npos);
}

// Measured on an H200 with PyTorch 2.11: some of the products and the attention.
TEST(KernelFit, MeasuredTimesOfAnH200AreExplained) {
  KernelTimes file{.path = "k", .units = 132};
  file.kernels = {product("bf16", 1024, 768, 2304, 10.82e-6),
                  product("bf16", 4096, 768, 3072, 33.18e-6),
                  product("bf16", 4096, 2048, 3072, 72.45e-6),
                  product("bf16", 1024, 2048, 16384, 99.52e-6),
                  product("bf16", 4096, 4096, 6144, 266.8e-6),
                  product("bf16", 16384, 8192, 2048, 686.9e-6),
                  product("bf16", 4096, 14336, 4096, 596.8e-6),
                  product("bf16", 256, 4096, 28672, 104.4e-6),
                  product("bf16", 4096, 768, 50257, 3355.8e-6),
                  product("bf16", 1024, 768, 50257, 843.0e-6),
                  attention(16, 12, 1024, 64, 87.0e-6, 280.3e-6),
                  attention(2, 32, 2048, 64, 104.2e-6, 300.5e-6),
                  attention(1, 32, 4096, 128, 261.0e-6, 759.9e-6),
                  attention(1, 32, 8192, 128, 900.4e-6, 2703.4e-6),
                  attention(4, 24, 2048, 128, 209.1e-6, 696.4e-6)};
  const auto fit = fit_kernels(h200(), std::vector{file}, "a test");
  ASSERT_TRUE(fit) << fit.error().message();
  for (const KernelKindError& kind : fit->kinds) {
    EXPECT_LT(kind.median, 0.06) << kind.kind;
    EXPECT_LT(kind.worst, 0.15) << kind.kind << ' ' << kind.worst_shape;
  }
}

}  // namespace
}  // namespace stepscope

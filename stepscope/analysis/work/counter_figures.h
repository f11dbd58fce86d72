// SPDX-License-Identifier: Apache-2.0
// Figures that hardware counters give: of kernels (CUPTI's range profiler, metrics by their names
// in Nsight Compute) and of time (samples: GPU metrics of Nsight Systems, PM sampling of Kineto).
// A metric that was not recorded leaves its figures absent.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The figures of one kernel: means over its profiled runs.
struct KernelFigures {
  std::optional<double> tensor_active;        // of the tensor pipe's cycles or of its peak rate
  std::optional<double> tensor_instructions;  // a run
  std::optional<double> sm_share;             // of the SM's peak throughput
  std::optional<double> dram_share;           // of the DRAM's peak throughput
  std::optional<Bytes> dram_read;             // a run
  std::optional<Bytes> dram_write;
  std::optional<ByteRate> dram_read_rate;
  std::optional<ByteRate> dram_write_rate;
  std::optional<double> l2_hit_rate;
  std::optional<double> l1_hit_rate;
  std::optional<Flops> fp32;  // by the instructions of the CUDA cores: add, multiply, 2 × FMA
  std::optional<Flops> fp64;

  [[nodiscard]] bool any() const;
};

// Rates are bytes over the counters' own duration, else over the mean of the kernel's recorded runs
// (`mean_run`; absent: it has no recorded runs).
[[nodiscard]] KernelFigures kernel_figures(const StringPool& strings,
                                           std::span<const KernelCounter> counters,
                                           std::optional<Ns> mean_run);

// The figures of a row of the kernel table, with the names of its trace.
[[nodiscard]] KernelFigures kernel_figures(const StringPool& strings, const KernelRow& kernel);

// The figures of a span of time: means over the samples in it.
struct SampledFigures {
  std::size_t samples = 0;                // of the metric with most
  std::optional<double> tensor_active;    // shares of the peak
  std::optional<double> sm_active;        // share of the SMs with a warp
  std::optional<double> dram_read_share;  // of the DRAM's peak rate
  std::optional<double> dram_write_share;
  std::optional<double> sm_clock_mhz;
};

struct CounterSamples {
  std::vector<SampledFigures> steps{};  // parallel to the rank's steps
  SampledFigures whole{};               // all of them
};

// Absent without a sample of a known metric in the steps.
[[nodiscard]] std::optional<CounterSamples> counter_samples(const Trace& trace,
                                                            std::span<const Step> steps);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The device's work by name and by class: device operations (kernels, copies, memsets) that start
// inside the steps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/op_work.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// A hardware counter that the profiler attached to a kernel's name, averaged over its profiled
// ranges.
struct KernelCounter {
  StringId metric = empty_string;
  double mean = 0;
  std::uint64_t count = 0;
};

struct KernelRow {
  StringId name = empty_string;
  NameClass kind = NameClass::other;
  std::uint64_t count = 0;  // 0 for a kernel known only from hardware counters
  Ns total{};
  Ns min{};
  Ns max{};
  double share = 0;  // of the busy time; shares of overlapping kernels sum to more than 1
  std::optional<Flops> flops{};    // sum; empty unless known for every run
  std::optional<FlopRate> rate{};  // over runs with known flops
  std::optional<Bytes> bytes{};    // the least its operators move, or what a copy between host and
                                   // device moved; same rules
  std::optional<ByteRate> bandwidth{};
  std::optional<bool> tensor_core{};  // of matmul and attention; empty if the name does not show it
  std::vector<KernelCounter> counters{};

  [[nodiscard]] Ns mean() const {
    return count == 0 ? Ns{} : total / static_cast<std::int64_t>(count);
  }
};

struct KernelClassRow {
  NameClass kind = NameClass::other;
  std::uint64_t count = 0;
  Ns total{};
  double share = 0;
};

struct KernelTable {
  std::vector<KernelRow> kernels;       // longest total first
  std::vector<KernelClassRow> classes;  // classes with rows, longest total first
  Ns busy{};  // union over all streams of all devices, clipped to the steps, summed over devices
};

[[nodiscard]] KernelTable kernel_table(const Trace& trace, const RankIndex& rank,
                                       std::span<const Step> steps, const OpWork& work);

// True if a kernel's name shows that a matrix product runs on tensor cores (matrix cores, XMX).
// Empty if the name does not show it.
[[nodiscard]] std::optional<bool> uses_tensor_cores(std::string_view kernel_name);

}  // namespace stepscope

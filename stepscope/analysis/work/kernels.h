// SPDX-License-Identifier: Apache-2.0
// What the device ran, by name and by class: device operations (kernels, copies, memsets) that
// start inside the steps.
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

// A hardware counter that the profiler attached to a kernel's name, over its profiled ranges.
struct KernelCounter {
  StringId metric = empty_string;
  double mean = 0;
  std::uint64_t count = 0;
};

struct KernelRow {
  StringId name = empty_string;
  NameClass kind = NameClass::other;
  std::uint64_t count = 0;  // 0 for a kernel that only hardware counters speak of
  Ns total{};
  Ns min{};
  Ns max{};
  double share =
      0;  // of the device's busy time; overlapping kernels make the shares sum to more than 1
  std::optional<Flops> flops;    // summed; empty unless every run of it has a known number
  std::optional<FlopRate> rate;  // over the runs with a known number
  std::optional<Bytes> bytes;    // the least that its operators move, the same way
  std::optional<ByteRate> bandwidth;
  std::optional<bool>
      tensor_core;  // of matmul and attention kernels; empty where the name does not tell
  std::vector<KernelCounter> counters;

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
  std::vector<KernelClassRow> classes;  // of those with rows, longest total first
  Ns busy{};  // union over all streams of all devices, clipped to the steps, summed over devices
};

[[nodiscard]] KernelTable kernel_table(const Trace& trace, const RankIndex& rank,
                                       std::span<const Step> steps, const OpWork& work);

// From a kernel's name: whether a matrix product runs on tensor cores (matrix cores, XMX). Empty
// where it does not tell.
[[nodiscard]] std::optional<bool> uses_tensor_cores(std::string_view kernel_name);

}  // namespace stepscope

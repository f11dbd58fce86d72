// SPDX-License-Identifier: Apache-2.0
// Where a kernel or an operator stands against its machine: share of the peak, share of the memory
// bandwidth, and which of the two bounds it (Williams, Waterman, Patterson: "Roofline", CACM 2009).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/analysis/work/operators.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

enum class Bound : std::uint8_t { unknown, compute, memory };
inline constexpr std::array<std::string_view, 3> bound_names = {"unknown", "compute", "memory"};
static_assert(bound_names[static_cast<std::size_t>(Bound::memory)] == "memory");

// A row of kernels or operators, summed: what they did in `time` (> 0, else every answer is
// absent).
struct RooflineWork {
  std::optional<Flops> flops;  // 0 for work that computes nothing, absent where unknown
  std::optional<Bytes> bytes;  // each operand read and each result written once
  std::optional<Dtype> dtype;  // absent: no peak
  bool streams =
      false;  // elementwise work, norms and their like: FLOPs unknown but too few to bind
  Ns time{};
};

struct RooflinePlace {
  std::optional<double> peak_share;       // flops / time / peak
  std::optional<double> bandwidth_share;  // bytes / time / bandwidth; above 1: served by a cache
  std::optional<double> intensity;        // flop per byte
  std::optional<double> ridge;  // the intensity from which the peak and not the memory bounds
  Bound bound = Bound::unknown;
  std::optional<double>
      roof_share;  // time at the roof / time: what is left to gain is 1 - roof_share
};

// `peak_override` (--peak-tflops) stands for the machine's peak of every dtype.
[[nodiscard]] RooflinePlace place_on_roofline(const RooflineWork& work, const Machine& machine,
                                              std::optional<FlopRate> peak_override = std::nullopt);

// An operator's row: by its own precision; elementwise, norm, optimizer, embedding, loss and copy
// operators stream.
[[nodiscard]] RooflineWork roofline_work(const OperatorRow& row);

}  // namespace stepscope

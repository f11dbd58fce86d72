// SPDX-License-Identifier: Apache-2.0
// The position of a kernel or an operator on its machine's roofline: share of the peak, share of
// the memory bandwidth, and the binding one (Williams, Waterman, Patterson: "Roofline", CACM 2009).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/analysis/work/executed.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

enum class Bound : std::uint8_t { unknown, compute, memory };
inline constexpr auto bound_names = enum_names<Bound::memory>;

// The summed work of a row of kernels or operators in `time` (> 0, else every answer is absent).
struct RooflineWork {
  std::optional<Flops> flops;  // 0 for work without arithmetic, absent if unknown
  std::optional<Bytes> bytes;  // each operand read and each result written once
  std::optional<Dtype> dtype;  // absent: no peak
  bool streams =
      false;  // elementwise work, norms and similar: FLOPs are unknown but too few to bind
  Ns time{};
};

struct RooflinePlace {
  std::optional<double> peak_share;       // flops / time / peak
  std::optional<double> bandwidth_share;  // bytes / time / bandwidth; above 1: served by a cache
  std::optional<double> intensity;        // flop per byte
  std::optional<double> ridge;            // intensity above which the peak binds and not the memory
  Bound bound = Bound::unknown;
  std::optional<double>
      roof_share;  // time at the roof / time of the row; 1 - roof_share is the possible gain
};

// `peak_override` (--peak-tflops) replaces the machine's peak of every dtype.
[[nodiscard]] RooflinePlace place_on_roofline(const RooflineWork& work, const Machine& machine,
                                              std::optional<FlopRate> peak_override = std::nullopt);

// The work of an operator's row, in its own precision. Elementwise, norm, optimizer, embedding,
// loss and copy operators stream. Copies between host and device are not bound by its memory.
[[nodiscard]] RooflineWork roofline_work(const OperatorRow& row);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Calibration of a device's arithmetic and memory: fits the numbers of
// cost/machine/compute_parameters.h to timed operations, by the formulas of
// cost/time/compute_time.h. For devices whose operations can be timed one by one, such as the cores
// of this machine. bench/fit_compute does the same for accelerators with published times of whole
// steps only.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/time/compute_time.h"

namespace stepscope {

struct OperationTiming {
  Dtype dtype = Dtype::fp32;
  Operation operation;
  Direction direction = Direction::forward;
  Seconds time{};  // measured, above 0
};

struct ComputeFit {
  ComputeCurves curves;   // of a core: one unit, no tiles, no host; source empty
  double mean_error = 0;  // |modelled / measured - 1| over the timings
};

// A number of the curves that a fit may change: its position, and the start and end of its search.
struct FreeNumber {
  enum class What : std::uint8_t { matmul, attention, parameter } what{};
  std::size_t at = 0;                   // format or ComputeParameter
  double start = 0, low = 0, high = 0;  // above 0
};

// Sets the free numbers of machine.compute so that the model explains the timings, and returns what
// is left: the sum of the robust losses of relative residuals. Each start is clamped to its bounds.
// Deterministic. REQUIRES: machine.compute, a peak for each timing's format, and a memory rate.
double fit_numbers(Machine& machine, std::span<const FreeNumber> free,
                   std::span<const OperationTiming> timings);

// The time of each timing by the machine's curves; absent if it lacks a peak or the memory's rate.
[[nodiscard]] std::vector<std::optional<Seconds>> modelled_times(
    const Machine& machine, std::span<const OperationTiming> timings);

// `machine` gives the peaks and the memory's rate (compute_time.h needs both). Free numbers: the
// shares of the peaks, the memory's efficiency, the share of a product's traffic that its
// arithmetic does not hide, and the cost of a call. A number that no timing determines is absent.
// Residuals are relative. Deterministic. REQUIRES: a peak for each timing's format, and a memory
// rate.
[[nodiscard]] ComputeFit fit_core(const Machine& machine, std::span<const OperationTiming> timings);

}  // namespace stepscope

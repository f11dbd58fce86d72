// SPDX-License-Identifier: Apache-2.0
// The tp devices of the 2d, 2.5d and 3d layouts as a grid, and the number of devices that a plan's
// tensor and sequence parallelism take together.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>

#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// tp devices as rows x columns x depth.
struct DeviceGrid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;

  [[nodiscard]] constexpr std::int64_t devices() const { return rows * columns * depth; }
  bool operator==(const DeviceGrid&) const = default;
};

// The rows, columns and depth of plan.tensor. A side that is not given is what the others leave of
// tp; if neither is given, both are equal. 3d with none of the three: a cube. 1d: 1 x tp x 1.
// Absent if the sides do not multiply to tp. REQUIRES: positive tp and depth, no negative side.
[[nodiscard]] std::optional<DeviceGrid> tensor_grid(const Plan& plan);

// The panels into which SUMMA cuts the inner dimension of a product, so that each panel lies in one
// row of W and in one column of X.
[[nodiscard]] constexpr std::int64_t panels(const DeviceGrid& grid) {
  return std::lcm(grid.rows, grid.columns);
}

// Devices over which norms, dropout and residuals are divided along the sequence; 1: not divided.
[[nodiscard]] constexpr std::int64_t sequence_parts(const Plan& p) {
  if (p.tensor.layout != TensorLayout::one_d || !p.tensor.sequence_parallel) return 1;
  return p.tensor.sequence_degree > 0 ? p.tensor.sequence_degree : p.tp;
}

// Devices that hold one copy of a layer's weights and activations: tp, or if the sequence is cut
// into another number of parts, the least common multiple of both.
// Safe for any numbers; beyond 10^14 it is 10^14.
[[nodiscard]] constexpr std::int64_t tensor_ranks(const Plan& p) {
  constexpr std::int64_t most_each = 10'000'000;
  const std::int64_t parts = sequence_parts(p);
  if (parts <= 1 || parts == p.tp || p.tp < 1) return p.tp;
  if (parts > most_each || p.tp > most_each) return most_each * most_each;
  return std::lcm(p.tp, parts);
}

}  // namespace stepscope

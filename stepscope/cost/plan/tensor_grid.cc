// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

// The whole root of n; absent if n is no such power.
std::optional<std::int64_t> whole_root(std::int64_t n, int power) {
  for (std::int64_t side = 1;; ++side) {
    const std::int64_t filled = power == 3 ? side * side * side : side * side;
    if (filled == n) return side;
    if (filled > n) return std::nullopt;
  }
}

}  // namespace

std::optional<DeviceGrid> tensor_grid(const Plan& plan) {
  if (plan.tensor.layout == TensorLayout::one_d) return DeviceGrid{.columns = plan.tp};
  const bool sides = plan.tensor.rows > 0 || plan.tensor.columns > 0;
  if (plan.tensor.layout == TensorLayout::three_d && !sides && plan.tensor.depth == 1) {
    const auto side = whole_root(plan.tp, 3);
    if (!side) return std::nullopt;
    return DeviceGrid{.rows = *side, .columns = *side, .depth = *side};
  }
  if (plan.tp % plan.tensor.depth != 0) return std::nullopt;
  const std::int64_t plane = plan.tp / plan.tensor.depth;
  DeviceGrid grid{
      .rows = plan.tensor.rows, .columns = plan.tensor.columns, .depth = plan.tensor.depth};
  if (!sides) {
    const auto side = whole_root(plane, 2);
    if (!side) return std::nullopt;
    grid.rows = grid.columns = *side;
  } else if (grid.rows == 0) {
    grid.rows = plane / grid.columns;
  } else if (grid.columns == 0) {
    grid.columns = plane / grid.rows;
  }
  if (grid.rows < 1 || grid.columns < 1 || plane % grid.rows != 0) return std::nullopt;
  if (plane / grid.rows != grid.columns) return std::nullopt;
  return grid;
}

}  // namespace stepscope

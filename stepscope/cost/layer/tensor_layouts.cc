// SPDX-License-Identifier: Apache-2.0
// One function per layout. Letters as in docs/explanation/tensor-layouts.md: X[T, k], W[k, n], Y[T,
// n], grids of side q, depth d. Groups: the members of a row exchange parts of X, the members of a
// column parts of W.
#include "stepscope/cost/layer/tensor_layouts.h"

#include <cmath>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using enum CollectiveKind;

Int parts(Int n, Int by) { return (n + by - 1) / by; }

double quotient(Int a, Int b, Int by) {
  return static_cast<double>(a) * static_cast<double>(b) / static_cast<double>(by);
}

void add(std::vector<LayoutCall>& calls, const LayoutCall& call) {
  if (call.group > 1) calls.push_back(call);
}

// Whole X (or a part of its rows), W by columns: no partial sums forward, partial dX backward.
LinearLayout by_columns(Int t, const LinearShape& s, bool sequence_parallel) {
  const Int rows = sequence_parallel ? t : 1;
  LinearLayout l{.input = {parts(s.tokens, rows), s.in},
                 .weight = {s.in, parts(s.out, t)},
                 .output = {s.tokens, parts(s.out, t)},
                 .input_elements = quotient(s.tokens, s.in, rows),
                 .weight_elements = quotient(s.in, s.out, t),
                 .output_elements = quotient(s.tokens, s.out, t),
                 .product = {.m = s.tokens, .n = parts(s.out, t), .k = s.in}};
  const double x = quotient(s.tokens, s.in, 1);
  if (sequence_parallel) {
    add(l.forward, {all_gather, ParallelDim::tensor, t, x});
    add(l.input_gradient, {reduce_scatter, ParallelDim::tensor, t, x});
    add(l.weight_gradient, {all_gather, ParallelDim::tensor, t, x});
  } else {
    add(l.input_gradient, {all_reduce, ParallelDim::tensor, t, x});
  }
  return l;
}

// X by columns, W by rows: partial Y forward; backward each device needs the whole dY.
LinearLayout by_rows(Int t, const LinearShape& s, bool sequence_parallel) {
  const Int rows = sequence_parallel ? t : 1;
  LinearLayout l{.input = {s.tokens, parts(s.in, t)},
                 .weight = {parts(s.in, t), s.out},
                 .output = {parts(s.tokens, rows), s.out},
                 .input_elements = quotient(s.tokens, s.in, t),
                 .weight_elements = quotient(s.in, s.out, t),
                 .output_elements = quotient(s.tokens, s.out, rows),
                 .product = {.m = s.tokens, .n = s.out, .k = parts(s.in, t)}};
  const double y = quotient(s.tokens, s.out, 1);
  if (sequence_parallel) {
    add(l.forward, {reduce_scatter, ParallelDim::tensor, t, y});
    add(l.input_gradient, {all_gather, ParallelDim::tensor, t, y});
  } else {
    add(l.forward, {all_reduce, ParallelDim::tensor, t, y});
  }
  return l;
}

// SUMMA in each of d grids. The grids hold different rows of X and the same W.
LinearLayout on_grids(const DeviceGrid& g, const LinearShape& s) {
  const Int q = g.rows;
  const Int rows = q * g.depth;
  LinearLayout l{
      .input = {parts(s.tokens, rows), parts(s.in, q)},
      .weight = {parts(s.in, q), parts(s.out, q)},
      .output = {parts(s.tokens, rows), parts(s.out, q)},
      .input_elements = quotient(s.tokens, s.in, rows * q),
      .weight_elements = quotient(s.in, s.out, q * q),
      .output_elements = quotient(s.tokens, s.out, rows * q),
      .steps = q,
      .product = {.m = parts(s.tokens, rows), .n = parts(s.out, q), .k = parts(s.in, q)}};
  const LayoutCall x{broadcast, ParallelDim::tensor_row, q, l.input_elements, q};
  const LayoutCall w{broadcast, ParallelDim::tensor_column, q, l.weight_elements, q};
  const auto sum = [](LayoutCall call) {
    call.kind = reduce;
    return call;
  };
  add(l.forward, x);
  add(l.forward, w);
  add(l.input_gradient, w);
  add(l.input_gradient, sum(x));
  add(l.weight_gradient, x);
  add(l.weight_gradient, sum(w));
  add(l.weight_gradient, {all_reduce, ParallelDim::tensor_depth, g.depth, l.weight_elements});
  return l;
}

// Device (i, j, l) multiplies X[i, l] W[l, j]. The factors are gathered from the devices that share
// them along j and i, and the results are added along l.
LinearLayout in_cube(const DeviceGrid& g, const LinearShape& s, LinearPlace place) {
  const Int q = g.rows;
  const Int all = g.devices();
  const Int tokens = parts(s.tokens, q);
  LinearLayout l{.input = {parts(tokens, q), parts(s.in, q)},
                 .weight = {parts(parts(s.in, q), q), parts(s.out, q)},
                 .output = {parts(tokens, q), parts(s.out, q)},
                 .input_elements = quotient(s.tokens, s.in, all),
                 .weight_elements = quotient(s.in, s.out, all),
                 .output_elements = quotient(s.tokens, s.out, all),
                 .product = {.m = tokens, .n = parts(s.out, q), .k = parts(s.in, q)}};
  const bool first = place == LinearPlace::first;
  const ParallelDim in = first ? ParallelDim::tensor_row : ParallelDim::tensor_depth;
  const ParallelDim out = first ? ParallelDim::tensor_depth : ParallelDim::tensor_row;
  const auto side = static_cast<double>(q);
  const double x = l.input_elements * side;
  const double w = l.weight_elements * side;
  const double y = l.output_elements * side;
  add(l.forward, {all_gather, in, q, x});
  add(l.forward, {all_gather, ParallelDim::tensor_column, q, w});
  add(l.forward, {reduce_scatter, out, q, y});
  add(l.input_gradient, {all_gather, out, q, y});
  add(l.input_gradient, {all_gather, ParallelDim::tensor_column, q, w});
  add(l.input_gradient, {reduce_scatter, in, q, x});
  add(l.weight_gradient, {all_gather, in, q, x});
  add(l.weight_gradient, {reduce_scatter, ParallelDim::tensor_column, q, w});
  return l;
}

Int root(Int n, int power) {
  return static_cast<Int>(std::llround(std::pow(static_cast<double>(n), 1.0 / power)));
}

}  // namespace

DeviceGrid device_grid(const Plan& plan) {
  DeviceGrid grid;
  switch (plan.tensor_layout) {
    case TensorLayout::one_d:
      return {.columns = plan.tp};
    case TensorLayout::two_d:
    case TensorLayout::two_and_half_d:
      grid.depth = plan.tp_depth;
      grid.rows = grid.columns = root(plan.tp / plan.tp_depth, 2);
      break;
    case TensorLayout::three_d:
      grid.rows = grid.columns = grid.depth = root(plan.tp, 3);
      break;
  }
  check(grid.devices() == plan.tp, "tp fills the grid of its layout");
  return grid;
}

ActivationSplit activation_split(TensorLayout layout, const DeviceGrid& grid) {
  if (layout == TensorLayout::one_d) return {.features = grid.columns};
  return {.tokens = grid.rows * grid.depth, .features = grid.columns};
}

LinearLayout linear_layout(TensorLayout layout, const DeviceGrid& grid, const LinearShape& shape,
                           LinearPlace place, bool sequence_parallel) {
  switch (layout) {
    case TensorLayout::one_d:
      return place == LinearPlace::first ? by_columns(grid.columns, shape, sequence_parallel)
                                         : by_rows(grid.columns, shape, sequence_parallel);
    case TensorLayout::two_d:
    case TensorLayout::two_and_half_d:
      return on_grids(grid, shape);
    case TensorLayout::three_d:
      return in_cube(grid, shape, place);
  }
  return {};
}

double elements_sent(const std::vector<LayoutCall>& calls) {
  double sum = 0;
  for (const LayoutCall& c : calls) {
    const auto n = static_cast<double>(c.group);
    const double passes = c.kind == all_reduce ? 2 : 1;
    sum += static_cast<double>(c.count) * passes * c.elements * (n - 1) / n;
  }
  return sum;
}

}  // namespace stepscope

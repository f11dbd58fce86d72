// SPDX-License-Identifier: Apache-2.0
// One function per layout. Letters as in docs/dev/layouts.md: X[T, k], W[k, n], Y[T,
// n], grids of a rows and b columns, depth d. Groups: the members of a row exchange parts of X, the
// members of a column parts of W.
#include "stepscope/cost/layer/tensor_layouts.h"

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
LinearLayout by_columns(Int t, const LinearShape& s, Int sequence) {
  LinearLayout l{.input = {parts(s.tokens, sequence), s.in},
                 .weight = {s.in, parts(s.out, t)},
                 .output = {s.tokens, parts(s.out, t)},
                 .input_elements = quotient(s.tokens, s.in, sequence),
                 .weight_elements = quotient(s.in, s.out, t),
                 .output_elements = quotient(s.tokens, s.out, t),
                 .product = {.m = s.tokens, .n = parts(s.out, t), .k = s.in}};
  const double x = quotient(s.tokens, s.in, 1);
  const LayoutCall gather{all_gather, sequence_dim(t, sequence), sequence, x};
  add(l.forward, gather);
  add_reduction(l.input_gradient, t, sequence, x);
  add(l.weight_gradient, gather);
  return l;
}

// X by columns, W by rows: partial Y forward; backward each device needs the whole dY.
LinearLayout by_rows(Int t, const LinearShape& s, Int sequence) {
  LinearLayout l{.input = {s.tokens, parts(s.in, t)},
                 .weight = {parts(s.in, t), s.out},
                 .output = {parts(s.tokens, sequence), s.out},
                 .input_elements = quotient(s.tokens, s.in, t),
                 .weight_elements = quotient(s.in, s.out, t),
                 .output_elements = quotient(s.tokens, s.out, sequence),
                 .product = {.m = s.tokens, .n = s.out, .k = parts(s.in, t)}};
  const double y = quotient(s.tokens, s.out, 1);
  add_reduction(l.forward, t, sequence, y);
  add(l.input_gradient, {all_gather, sequence_dim(t, sequence), sequence, y});
  return l;
}

// SUMMA in each of d grids. The grids hold different rows of X and the same W. The inner dimension
// is cut into panels that each lie in one column of X's blocks and in one row of W's.
LinearLayout on_grids(const DeviceGrid& g, const LinearShape& s) {
  const Int a = g.rows;
  const Int b = g.columns;
  const Int steps = panels(g);
  const Int rows = a * g.depth;
  LinearLayout l{
      .input = {parts(s.tokens, rows), parts(s.in, b)},
      .weight = {parts(s.in, a), parts(s.out, b)},
      .output = {parts(s.tokens, rows), parts(s.out, b)},
      .input_elements = quotient(s.tokens, s.in, rows * b),
      .weight_elements = quotient(s.in, s.out, a * b),
      .output_elements = quotient(s.tokens, s.out, rows * b),
      .steps = steps,
      .product = {.m = parts(s.tokens, rows), .n = parts(s.out, b), .k = parts(s.in, steps)}};
  const LayoutCall x{broadcast, ParallelDim::tensor_row, b, quotient(s.tokens, s.in, rows * steps),
                     steps};
  const LayoutCall w{broadcast, ParallelDim::tensor_column, a, quotient(s.in, s.out, steps * b),
                     steps};
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
// them along j and i, and the results are added along l. In the second of two layers j and l swap.
LinearLayout in_block(const DeviceGrid& g, const LinearShape& s, LinearPlace place) {
  const bool first = place == LinearPlace::first;
  const ParallelDim in = first ? ParallelDim::tensor_row : ParallelDim::tensor_depth;
  const ParallelDim out = first ? ParallelDim::tensor_depth : ParallelDim::tensor_row;
  const Int i = g.rows;
  const Int j = first ? g.columns : g.depth;  // parts of n; devices that share a block of X
  const Int k = first ? g.depth : g.columns;  // parts of k; devices that add a block of Y
  const Int all = g.devices();
  const Int tokens = parts(s.tokens, i);
  LinearLayout l{.input = {parts(tokens, j), parts(s.in, k)},
                 .weight = {parts(parts(s.in, k), i), parts(s.out, j)},
                 .output = {parts(tokens, k), parts(s.out, j)},
                 .input_elements = quotient(s.tokens, s.in, all),
                 .weight_elements = quotient(s.in, s.out, all),
                 .output_elements = quotient(s.tokens, s.out, all),
                 .product = {.m = tokens, .n = parts(s.out, j), .k = parts(s.in, k)}};
  const double x = l.input_elements * static_cast<double>(j);
  const double w = l.weight_elements * static_cast<double>(i);
  const double y = l.output_elements * static_cast<double>(k);
  add(l.forward, {all_gather, in, j, x});
  add(l.forward, {all_gather, ParallelDim::tensor_column, i, w});
  add(l.forward, {reduce_scatter, out, k, y});
  add(l.input_gradient, {all_gather, out, k, y});
  add(l.input_gradient, {all_gather, ParallelDim::tensor_column, i, w});
  add(l.input_gradient, {reduce_scatter, in, j, x});
  add(l.weight_gradient, {all_gather, in, j, x});
  add(l.weight_gradient, {reduce_scatter, ParallelDim::tensor_column, i, w});
  return l;
}

}  // namespace

void add_reduction(std::vector<LayoutCall>& calls, Int tp, Int sequence_parts, double elements) {
  const ParallelDim tensor = ParallelDim::tensor;
  if (sequence_parts % tp == 0 && sequence_parts > 1) {
    add(calls, {reduce_scatter, tensor, tp, elements});
  } else if (tp % sequence_parts == 0 && sequence_parts > 1) {
    // Each of the tp devices has 1 / tp of the sum, and the copies of a part complete it.
    add(calls, {reduce_scatter, tensor, tp, elements});
    add(calls, {all_gather, ParallelDim::sequence_copies, tp / sequence_parts,
                elements / static_cast<double>(sequence_parts)});
  } else {
    add(calls, {all_reduce, tensor, tp, elements});
  }
}

DeviceGrid device_grid(const Plan& plan) {
  const auto grid = tensor_grid(plan);
  check(grid.has_value(), "tp fills the grid of its layout");
  return *grid;
}

ActivationSplit activation_split(TensorLayout layout, const DeviceGrid& grid) {
  if (layout == TensorLayout::one_d) return {.features = grid.columns};
  return {.tokens = grid.rows * grid.depth, .features = grid.columns};
}

ActivationSplit stream_split(TensorLayout layout, const DeviceGrid& grid) {
  if (layout == TensorLayout::one_d) return {};
  if (layout != TensorLayout::three_d) return activation_split(layout, grid);
  return {.tokens = grid.rows * grid.columns, .features = grid.depth};
}

ParallelDim stream_row_dim(TensorLayout layout) {
  return layout == TensorLayout::three_d ? ParallelDim::tensor_depth : ParallelDim::tensor_row;
}

LinearLayout linear_layout(TensorLayout layout, const DeviceGrid& grid, const LinearShape& shape,
                           LinearPlace place, Int sequence_parts) {
  switch (layout) {
    case TensorLayout::one_d:
      return place == LinearPlace::first ? by_columns(grid.columns, shape, sequence_parts)
                                         : by_rows(grid.columns, shape, sequence_parts);
    case TensorLayout::two_d:
    case TensorLayout::two_and_half_d:
      return on_grids(grid, shape);
    case TensorLayout::three_d:
      return in_block(grid, shape, place);
  }
  return {};
}

}  // namespace stepscope

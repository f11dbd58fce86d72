// SPDX-License-Identifier: Apache-2.0
// Each layout's algorithm runs on real matrices spread over virtual devices. Its product must be
// correct, and the elements sent by each device must equal the closed formula exactly.
#include "stepscope/cost/layer/tensor_layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "stepscope/cost/layer/tensor_layouts_test_devices.h"

namespace stepscope {
namespace {

using layout_test::add_to;
using layout_test::block;
using layout_test::Devices;
using layout_test::Group;
using layout_test::Layer;
using layout_test::Matrix;
using layout_test::product;
using layout_test::stacked;
using layout_test::transposed;
using Size = std::size_t;

// Elements sent by each device in the three products, in order Y, dX, dW.
using Sent = std::array<std::vector<Size>, 3>;

// Elements sent per device for the calls, on average over the group (rings: all-gather and
// reduce-scatter S (n-1)/n, all-reduce 2 S (n-1)/n; in a broadcast or reduction n - 1 of the n
// members pass S on).
double elements_sent(const std::vector<LayoutCall>& calls) {
  double sum = 0;
  for (const LayoutCall& c : calls) {
    const auto n = static_cast<double>(c.group);
    const double passes = c.kind == CollectiveKind::all_reduce ? 2 : 1;
    sum += static_cast<double>(c.count) * passes * c.elements * (n - 1) / n;
  }
  return sum;
}

// 1d: t devices share a product, s devices a sequence, side by side; of lcm(t, s) devices.
struct Line {
  Size t;
  Size s;

  [[nodiscard]] Size devices() const { return std::lcm(t, s); }
  // The part of the sequence that a device has.
  [[nodiscard]] Size part(Size device) const {
    if (s % t == 0) return device % t * (s / t) + device / t % (s / t);
    return device % s;
  }
  // The first and the number of devices of a group, in the order of `key`.
  template <class Key>
  static Group ordered(Size first, Size n, Key key) {
    Group g(n);
    std::iota(g.begin(), g.end(), first);
    std::ranges::sort(g, {}, key);
    return g;
  }
};

// Each device gets the rows of its part of the sequence, from which all have the whole.
std::vector<Matrix> gather_sequence(const Line& line, const Matrix& whole, Devices& wire) {
  std::vector<Matrix> found(line.devices());
  for (Size first = 0; first < line.devices(); first += line.s) {
    const Group g = Line::ordered(first, line.s, [&](Size d) { return line.part(d); });
    std::vector<Matrix> own;
    for (const Size d : g) own.push_back(block(whole, line.s, 1, line.part(d), 0));
    const Matrix all = wire.all_gather(g, own);
    for (const Size d : g) found[d] = all;
  }
  return found;
}

// Each device gets its part of the sum of its t partners' matrices.
void reduce_to_parts(const Line& line, const std::vector<Matrix>& partial, const Matrix& sum,
                     Devices& wire) {
  const auto [t, s] = line;
  std::vector<Matrix> part(line.devices());
  for (Size first = 0; first < line.devices(); first += t) {
    const Size copies = t % s == 0 ? t / s : 1;
    const auto place = [&](Size d) {  // the t-th part of the sum that a device gets first
      return s > 1 && t % s == 0 ? d % t % s * copies + d % t / s : d % t;
    };
    const Group g = Line::ordered(first, t, place);
    std::vector<Matrix> own;
    for (const Size d : g) own.push_back(partial[d]);
    if (s == 1 || (s % t != 0 && t % s != 0)) {
      const Matrix all = wire.all_reduce(g, own);
      for (const Size d : g) part[d] = block(all, s, 1, line.part(d), 0);
      continue;
    }
    const std::vector<Matrix> scattered = wire.reduce_scatter(g, own);
    for (Size r = 0; r < t; ++r) {
      // A longer sequence group: the part is one of several in what the device got.
      part[g[r]] = s % t == 0 ? block(scattered[r], s / t, 1, g[r] / t % (s / t), 0) : scattered[r];
    }
    for (Size p = 0; copies > 1 && p < s; ++p) {
      Group same;
      std::vector<Matrix> pieces;
      for (Size c = 0; c < copies; ++c) {
        same.push_back(first + p + c * s);
        pieces.push_back(part[same.back()]);
      }
      const Matrix all = wire.all_gather(same, pieces);
      for (const Size d : same) part[d] = all;
    }
  }
  for (Size d = 0; d < line.devices(); ++d) {
    EXPECT_EQ(part[d], block(sum, s, 1, line.part(d), 0)) << "t " << t << " s " << s;
  }
}

// W by columns.
Sent run_columns(const Layer& a, const Line& line) {
  const Size n = line.devices();
  std::array<Devices, 3> wires{Devices(n), Devices(n), Devices(n)};
  const std::vector<Matrix> x = gather_sequence(line, a.x, wires[0]);
  const std::vector<Matrix> again = gather_sequence(line, a.x, wires[2]);
  std::vector<Matrix> dx;
  for (Size d = 0; d < n; ++d) {
    const Size column = d % line.t;
    const Matrix w = block(a.w, 1, line.t, 0, column);
    const Matrix dy = block(a.dy, 1, line.t, 0, column);
    EXPECT_EQ(product(x[d], w), block(product(a.x, a.w), 1, line.t, 0, column));
    EXPECT_EQ(product(transposed(again[d]), dy),
              block(product(transposed(a.x), a.dy), 1, line.t, 0, column));
    dx.push_back(product(dy, transposed(w)));
  }
  reduce_to_parts(line, dx, product(a.dy, transposed(a.w)), wires[1]);
  return {wires[0].sent(), wires[1].sent(), wires[2].sent()};
}

// W by rows.
Sent run_rows(const Layer& a, const Line& line) {
  const Size n = line.devices();
  std::array<Devices, 3> wires{Devices(n), Devices(n), Devices(n)};
  std::vector<Matrix> y;
  const std::vector<Matrix> dy = gather_sequence(line, a.dy, wires[1]);
  for (Size d = 0; d < n; ++d) {
    const Size row = d % line.t;
    const Matrix x = block(a.x, 1, line.t, 0, row);
    const Matrix w = block(a.w, line.t, 1, row, 0);
    y.push_back(product(x, w));
    EXPECT_EQ(product(dy[d], transposed(w)),
              block(product(a.dy, transposed(a.w)), 1, line.t, 0, row));
    EXPECT_EQ(product(transposed(x), dy[d]),
              block(product(transposed(a.x), a.dy), line.t, 1, row, 0));
  }
  reduce_to_parts(line, y, product(a.x, a.w), wires[0]);
  return {wires[0].sent(), wires[1].sent(), wires[2].sent()};
}

// 2d and 2.5d: device (i, j) of grid e is number (e rows + i) columns + j. The inner dimension is
// cut into `steps` panels; the device that has a panel cuts it from its own block.
struct Grids {
  Size rows;
  Size columns;
  Size depth;
  Size steps = std::lcm(rows, columns);

  [[nodiscard]] Size devices() const { return rows * columns * depth; }
  [[nodiscard]] Size number(Size e, Size i, Size j) const { return (e * rows + i) * columns + j; }
  [[nodiscard]] Group row(Size e, Size i) const {
    Group g;
    for (Size j = 0; j < columns; ++j) g.push_back(number(e, i, j));
    return g;
  }
  [[nodiscard]] Group column(Size e, Size j) const {
    Group g;
    for (Size i = 0; i < rows; ++i) g.push_back(number(e, i, j));
    return g;
  }
  // Block (i, j) of grid e's rows of a matrix.
  [[nodiscard]] Matrix part(const Matrix& m, Size e, Size i, Size j) const {
    return block(block(m, depth, 1, e, 0), rows, columns, i, j);
  }
  [[nodiscard]] Size column_of(Size step) const { return step * columns / steps; }
  [[nodiscard]] Size row_of(Size step) const { return step * rows / steps; }
  // Panel `step` of X in row i, from the block of the device that has it.
  [[nodiscard]] Matrix x_panel(const Matrix& x, Size e, Size i, Size step) const {
    const Size each = steps / columns;
    return block(part(x, e, i, column_of(step)), 1, each, 0, step % each);
  }
  // Panel `step` of W in column j.
  [[nodiscard]] Matrix w_panel(const Matrix& w, Size j, Size step) const {
    const Size each = steps / rows;
    return block(block(w, rows, columns, row_of(step), j), each, 1, step % each, 0);
  }
};

void summa_forward(const Layer& a, const Grids& g, Size e, Devices& wire) {
  const Matrix y = product(a.x, a.w);
  std::vector<Matrix> sums(g.rows * g.columns);
  for (Size step = 0; step < g.steps; ++step) {
    std::vector<Matrix> x;
    std::vector<Matrix> w;
    for (Size i = 0; i < g.rows; ++i) {
      x.push_back(wire.broadcast(g.row(e, i), g.column_of(step), g.x_panel(a.x, e, i, step)));
    }
    for (Size j = 0; j < g.columns; ++j) {
      w.push_back(wire.broadcast(g.column(e, j), g.row_of(step), g.w_panel(a.w, j, step)));
    }
    for (Size i = 0; i < g.rows; ++i) {
      for (Size j = 0; j < g.columns; ++j) add_to(sums[i * g.columns + j], product(x[i], w[j]));
    }
  }
  for (Size i = 0; i < g.rows; ++i) {
    for (Size j = 0; j < g.columns; ++j) EXPECT_EQ(sums[i * g.columns + j], g.part(y, e, i, j));
  }
}

void summa_input_gradient(const Layer& a, const Grids& g, Size e, Devices& wire) {
  const Matrix dx = product(a.dy, transposed(a.w));
  for (Size step = 0; step < g.steps; ++step) {
    std::vector<Matrix> w;
    for (Size j = 0; j < g.columns; ++j) {
      w.push_back(wire.broadcast(g.column(e, j), g.row_of(step), g.w_panel(a.w, j, step)));
    }
    for (Size i = 0; i < g.rows; ++i) {
      std::vector<Matrix> partial;
      for (Size j = 0; j < g.columns; ++j) {
        partial.push_back(product(g.part(a.dy, e, i, j), transposed(w[j])));
      }
      EXPECT_EQ(wire.reduce(g.row(e, i), g.column_of(step), partial), g.x_panel(dx, e, i, step));
    }
  }
}

// Blocks of dW from this grid's rows, one after another.
std::vector<Matrix> summa_weight_gradient(const Layer& a, const Grids& g, Size e, Devices& wire) {
  std::vector<std::vector<Matrix>> panels_of(g.rows * g.columns);
  for (Size step = 0; step < g.steps; ++step) {
    std::vector<Matrix> x;
    for (Size i = 0; i < g.rows; ++i) {
      x.push_back(wire.broadcast(g.row(e, i), g.column_of(step), g.x_panel(a.x, e, i, step)));
    }
    for (Size j = 0; j < g.columns; ++j) {
      std::vector<Matrix> partial;
      for (Size i = 0; i < g.rows; ++i) {
        partial.push_back(product(transposed(x[i]), g.part(a.dy, e, i, j)));
      }
      panels_of[g.row_of(step) * g.columns + j].push_back(
          wire.reduce(g.column(e, j), g.row_of(step), partial));
    }
  }
  std::vector<Matrix> dw;
  for (const std::vector<Matrix>& some : panels_of) dw.push_back(stacked(some));
  return dw;
}

Sent run_grids(const Layer& a, const Grids& g) {
  const Size n = g.devices();
  std::array<Devices, 3> wires{Devices(n), Devices(n), Devices(n)};
  std::vector<std::vector<Matrix>> dw;
  for (Size e = 0; e < g.depth; ++e) {
    summa_forward(a, g, e, wires[0]);
    summa_input_gradient(a, g, e, wires[1]);
    dw.push_back(summa_weight_gradient(a, g, e, wires[2]));
  }
  const Matrix whole = product(transposed(a.x), a.dy);
  for (Size i = 0; i < g.rows; ++i) {
    for (Size j = 0; j < g.columns; ++j) {
      Group through;
      std::vector<Matrix> copies;
      for (Size e = 0; e < g.depth; ++e) {
        through.push_back(g.number(e, i, j));
        copies.push_back(dw[e][i * g.columns + j]);
      }
      EXPECT_EQ(wires[2].all_reduce(through, copies), block(whole, g.rows, g.columns, i, j));
    }
  }
  return {wires[0].sent(), wires[1].sent(), wires[2].sent()};
}

// 3d: device (i, j, l) is number (i b + j) c + l of a x b x c. Tokens are cut by i, features of the
// output by n, those of the input by k. In a first layer n is j and k is l, in a second the
// reverse.
struct Block3 {
  Size a;
  Size b;
  Size c;
  bool first;

  [[nodiscard]] Size outs() const { return first ? b : c; }
  [[nodiscard]] Size ins() const { return first ? c : b; }
  [[nodiscard]] Size number(Size i, Size n, Size k) const {
    return first ? (i * b + n) * c + k : (i * b + k) * c + n;
  }
  [[nodiscard]] Group over_tokens(Size n, Size k) const {
    Group g;
    for (Size i = 0; i < a; ++i) g.push_back(number(i, n, k));
    return g;
  }
  [[nodiscard]] Group over_outs(Size i, Size k) const {
    Group g;
    for (Size n = 0; n < outs(); ++n) g.push_back(number(i, n, k));
    return g;
  }
  [[nodiscard]] Group over_ins(Size i, Size n) const {
    Group g;
    for (Size k = 0; k < ins(); ++k) g.push_back(number(i, n, k));
    return g;
  }
};

// The row parts of a block, one per member of the group that shares it.
std::vector<Matrix> shares(const Matrix& whole_block, Size members) {
  std::vector<Matrix> parts;
  for (Size v = 0; v < members; ++v) parts.push_back(block(whole_block, members, 1, v, 0));
  return parts;
}

void for_pairs(Size first, Size second, const std::function<void(Size, Size)>& f) {
  for (Size u = 0; u < first; ++u) {
    for (Size v = 0; v < second; ++v) f(u, v);
  }
}

Sent run_block(const Layer& a, const Block3& g) {
  const Size devices = g.a * g.b * g.c;
  const Size outs = g.outs();
  const Size ins = g.ins();
  std::array<Devices, 3> wires{Devices(devices), Devices(devices), Devices(devices)};
  auto& [forward, backward_x, backward_w] = wires;
  std::vector<Matrix> x(g.a * ins);
  std::vector<Matrix> x_again(g.a * ins);
  std::vector<Matrix> w(ins * outs);
  std::vector<Matrix> w_again(ins * outs);
  std::vector<Matrix> dy(g.a * outs);
  for_pairs(g.a, ins, [&](Size i, Size k) {
    const auto parts = shares(block(a.x, g.a, ins, i, k), outs);
    x[i * ins + k] = forward.all_gather(g.over_outs(i, k), parts);
    x_again[i * ins + k] = backward_w.all_gather(g.over_outs(i, k), parts);
  });
  for_pairs(ins, outs, [&](Size k, Size n) {
    const auto parts = shares(block(a.w, ins, outs, k, n), g.a);
    w[k * outs + n] = forward.all_gather(g.over_tokens(n, k), parts);
    w_again[k * outs + n] = backward_x.all_gather(g.over_tokens(n, k), parts);
  });
  for_pairs(g.a, outs, [&](Size i, Size n) {
    dy[i * outs + n] =
        backward_x.all_gather(g.over_ins(i, n), shares(block(a.dy, g.a, outs, i, n), ins));
  });
  const Matrix y_all = product(a.x, a.w);
  const Matrix dx_all = product(a.dy, transposed(a.w));
  const Matrix dw_all = product(transposed(a.x), a.dy);
  for_pairs(g.a, outs, [&](Size i, Size n) {
    std::vector<Matrix> y;
    for (Size k = 0; k < ins; ++k) y.push_back(product(x[i * ins + k], w[k * outs + n]));
    EXPECT_EQ(forward.reduce_scatter(g.over_ins(i, n), y),
              shares(block(y_all, g.a, outs, i, n), ins));
  });
  for_pairs(g.a, ins, [&](Size i, Size k) {
    std::vector<Matrix> dx;
    for (Size n = 0; n < outs; ++n) {
      dx.push_back(product(dy[i * outs + n], transposed(w_again[k * outs + n])));
    }
    EXPECT_EQ(backward_x.reduce_scatter(g.over_outs(i, k), dx),
              shares(block(dx_all, g.a, ins, i, k), outs));
  });
  for_pairs(ins, outs, [&](Size k, Size n) {
    std::vector<Matrix> dw;
    for (Size i = 0; i < g.a; ++i) {
      dw.push_back(product(transposed(x_again[i * ins + k]), dy[i * outs + n]));
    }
    EXPECT_EQ(backward_w.reduce_scatter(g.over_tokens(n, k), dw),
              shares(block(dw_all, ins, outs, k, n), g.a));
  });
  return {forward.sent(), backward_x.sent(), backward_w.sent()};
}

LinearShape shape_of(const Layer& a) {
  return {static_cast<std::int64_t>(a.x.rows), static_cast<std::int64_t>(a.x.columns),
          static_cast<std::int64_t>(a.w.columns)};
}

void expect_sent(const Sent& sent, const LinearLayout& l) {
  const std::array formula{elements_sent(l.forward), elements_sent(l.input_gradient),
                           elements_sent(l.weight_gradient)};
  for (Size pass = 0; pass < 3; ++pass) {
    for (const Size device : sent[pass]) {
      EXPECT_DOUBLE_EQ(static_cast<double>(device), formula[pass]) << "pass " << pass;
    }
  }
}

Plan plan_of(TensorLayout layout, std::int64_t tp, std::int64_t depth = 1) {
  return {.devices = tp, .tp = tp, .tensor = {.layout = layout, .depth = depth}};
}

class RandomShapes : public testing::TestWithParam<unsigned> {
 protected:
  // A size divisible by `unit`.
  Size size(Size unit) { return unit * std::uniform_int_distribution<Size>(1, 3)(source_); }
  Layer layer(Size tokens, Size in, Size out) {
    return layout_test::random_layer(size(tokens), size(in), size(out), source_);
  }

 private:
  std::mt19937 source_{GetParam()};
};

TEST_P(RandomShapes, OneDimensionSendsWhatItsFormulaSays) {
  for (const Size t : {1U, 2U, 3U, 4U, 6U, 8U}) {
    for (const Size s : {1U, 2U, 3U, 4U, 6U, 8U}) {
      const Line line{t, s};
      const Layer a = layer(line.devices(), t, t);
      const DeviceGrid grid = device_grid(plan_of(TensorLayout::one_d, static_cast<int>(t)));
      const auto formula = [&](LinearPlace place) {
        return linear_layout(TensorLayout::one_d, grid, shape_of(a), place, static_cast<int>(s));
      };
      expect_sent(run_columns(a, line), formula(LinearPlace::first));
      expect_sent(run_rows(a, line), formula(LinearPlace::second));
    }
  }
}

Plan sides_of(TensorLayout layout, const std::array<Size, 3>& sides) {
  const auto [rows, columns, depth] = sides;
  Plan plan = plan_of(layout, static_cast<int>(rows * columns * depth), static_cast<int>(depth));
  plan.tensor.rows = static_cast<int>(rows);
  plan.tensor.columns = static_cast<int>(columns);
  return plan;
}

TEST_P(RandomShapes, GridsOfAnySidesSendWhatSummaSays) {
  for (const Size rows : {1U, 2U, 3U, 4U, 6U}) {
    for (const Size columns : {1U, 2U, 3U, 4U, 5U}) {
      const Grids g{rows, columns, 1};
      const Layer a = layer(rows, g.steps, columns);
      const DeviceGrid grid = device_grid(sides_of(TensorLayout::two_d, {rows, columns, 1}));
      EXPECT_EQ(grid, (DeviceGrid{static_cast<int>(rows), static_cast<int>(columns), 1}));
      expect_sent(run_grids(a, g),
                  linear_layout(TensorLayout::two_d, grid, shape_of(a), LinearPlace::first));
    }
  }
}

TEST_P(RandomShapes, CopiedGridsOfAnySidesSendWhatTesseractSays) {
  for (const Size rows : {1U, 2U, 3U, 4U}) {
    for (const Size columns : {1U, 2U, 3U}) {
      for (const Size depth : {1U, 2U, 3U, 5U}) {
        const Grids g{rows, columns, depth};
        const Layer a = layer(rows * depth, g.steps * depth, columns);
        const Plan plan = sides_of(TensorLayout::two_and_half_d, {rows, columns, depth});
        expect_sent(run_grids(a, g), linear_layout(TensorLayout::two_and_half_d, device_grid(plan),
                                                   shape_of(a), LinearPlace::first));
      }
    }
  }
}

TEST_P(RandomShapes, BlocksOfAnySidesSendWhatAgarwalSays) {
  for (const Size rows : {1U, 2U, 3U}) {
    for (const Size columns : {1U, 2U, 4U}) {
      for (const Size depth : {1U, 2U, 3U}) {
        const Size all = rows * columns * depth;
        const Layer a = layer(all, all, columns * depth);
        const Plan plan = sides_of(TensorLayout::three_d, {rows, columns, depth});
        for (const LinearPlace place : {LinearPlace::first, LinearPlace::second}) {
          const Block3 block3{rows, columns, depth, place == LinearPlace::first};
          expect_sent(run_block(a, block3),
                      linear_layout(TensorLayout::three_d, device_grid(plan), shape_of(a), place));
        }
      }
    }
  }
}

// The formulas for squares and cubes are those of docs/dev/layouts.md.
TEST(TensorLayouts, SquaresAndCubesNeedNoSides) {
  const auto grid = [](TensorLayout layout, std::int64_t tp, std::int64_t depth = 1) {
    return device_grid(plan_of(layout, tp, depth));
  };
  EXPECT_EQ(grid(TensorLayout::two_d, 9), (DeviceGrid{3, 3, 1}));
  EXPECT_EQ(grid(TensorLayout::two_and_half_d, 32, 2), (DeviceGrid{4, 4, 2}));
  EXPECT_EQ(grid(TensorLayout::three_d, 27), (DeviceGrid{3, 3, 3}));
  Plan plan = plan_of(TensorLayout::two_d, 12);
  plan.tensor.rows = 2;
  EXPECT_EQ(device_grid(plan), (DeviceGrid{2, 6, 1})) << "the columns are what the rows leave";
  const LinearShape shape{36, 36, 72};
  const LinearLayout l =
      linear_layout(TensorLayout::two_d, grid(TensorLayout::two_d, 9), shape, LinearPlace::first);
  EXPECT_DOUBLE_EQ(elements_sent(l.forward), 2.0 * (36 * 36 + 36 * 72) / 9);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomShapes, testing::Range(1U, 9U));

double sent(TensorLayout layout, std::int64_t tp, std::int64_t depth = 1,
            std::int64_t tokens = 4096) {
  const LinearShape shape{tokens, 4096, 4096};
  const LinearLayout l =
      linear_layout(layout, device_grid(plan_of(layout, tp, depth)), shape, LinearPlace::first);
  return elements_sent(l.forward) + elements_sent(l.input_gradient) +
         elements_sent(l.weight_gradient);
}

TEST(TensorLayouts, VolumesFallWithTheRootOfTheGridAndTheTwoThirdsOfTheCube) {
  // (q - 1) / q of the asymptotic volume; the rest is the power law.
  const auto corrected = [](double volume, double q) { return volume * q / (q - 1); };
  const double two_d = corrected(sent(TensorLayout::two_d, 16), 4);
  EXPECT_NEAR(two_d / corrected(sent(TensorLayout::two_d, 1024), 32), std::sqrt(1024.0 / 16), 1e-9);
  const double three_d = corrected(sent(TensorLayout::three_d, 8), 2);
  EXPECT_NEAR(three_d / corrected(sent(TensorLayout::three_d, 4096), 16), std::pow(512.0, 2.0 / 3),
              1e-9);
  EXPECT_LT(sent(TensorLayout::three_d, 64), sent(TensorLayout::two_d, 64));
  EXPECT_LT(sent(TensorLayout::two_d, 64), sent(TensorLayout::one_d, 64));
  // Copies of W pay off if X is larger.
  EXPECT_LT(sent(TensorLayout::two_and_half_d, 64, 4, 65536),
            sent(TensorLayout::two_d, 64, 1, 65536));
}

TEST(TensorLayouts, EveryLayoutSharesTheProductEvenly) {
  const LinearShape shape{1728, 3456, 5184};
  const double all = 2.0 * 1728 * 3456 * 5184;
  for (const Plan& plan :
       {plan_of(TensorLayout::one_d, 64), plan_of(TensorLayout::two_d, 144),
        plan_of(TensorLayout::two_and_half_d, 72, 2), plan_of(TensorLayout::three_d, 216)}) {
    const LinearLayout l =
        linear_layout(plan.tensor.layout, device_grid(plan), shape, LinearPlace::first);
    const MatmulShape& p = l.product;
    EXPECT_DOUBLE_EQ(2.0 * static_cast<double>(l.steps * p.m * p.n * p.k),
                     all / static_cast<double>(plan.tp));
  }
}

TEST(TensorLayouts, WeightsAreCopiedOnlyOverTheDepthOfTwoAndAHalfDimensions) {
  const LinearShape shape{1728, 3456, 5184};
  const double all = 3456.0 * 5184;
  const auto held = [&](const Plan& plan) {
    const LinearLayout l =
        linear_layout(plan.tensor.layout, device_grid(plan), shape, LinearPlace::first);
    EXPECT_DOUBLE_EQ(static_cast<double>(l.weight.rows * l.weight.columns), l.weight_elements);
    EXPECT_DOUBLE_EQ(static_cast<double>(l.input.rows * l.input.columns), l.input_elements);
    EXPECT_DOUBLE_EQ(static_cast<double>(l.output.rows * l.output.columns), l.output_elements);
    return l.weight_elements * static_cast<double>(plan.tp) / all;
  };
  EXPECT_DOUBLE_EQ(held(plan_of(TensorLayout::one_d, 64)), 1);
  EXPECT_DOUBLE_EQ(held(plan_of(TensorLayout::two_d, 144)), 1);
  EXPECT_DOUBLE_EQ(held(plan_of(TensorLayout::two_and_half_d, 72, 2)), 2);
  EXPECT_DOUBLE_EQ(held(plan_of(TensorLayout::three_d, 216)), 1);
}

TEST(TensorLayouts, OneDeviceSendsNothing) {
  for (const TensorLayout layout : {TensorLayout::one_d, TensorLayout::two_d,
                                    TensorLayout::two_and_half_d, TensorLayout::three_d}) {
    EXPECT_EQ(sent(layout, 1), 0);
  }
}

TEST(TensorLayouts, ActivationsAreSplitAsAttentionSplitsThem) {
  const auto split = [](TensorLayout layout, std::int64_t tp, std::int64_t depth = 1) {
    const Plan plan = plan_of(layout, tp, depth);
    const ActivationSplit s = activation_split(layout, device_grid(plan));
    return std::pair{s.tokens, s.features};
  };
  EXPECT_EQ(split(TensorLayout::one_d, 8), (std::pair<std::int64_t, std::int64_t>{1, 8}));
  EXPECT_EQ(split(TensorLayout::two_d, 16), (std::pair<std::int64_t, std::int64_t>{4, 4}));
  EXPECT_EQ(split(TensorLayout::two_and_half_d, 32, 2),
            (std::pair<std::int64_t, std::int64_t>{8, 4}));
  EXPECT_EQ(split(TensorLayout::three_d, 64), (std::pair<std::int64_t, std::int64_t>{16, 4}));
  // 3d: the second layer leaves rows cut by j, features by l.
  const DeviceGrid sides{.rows = 2, .columns = 3, .depth = 5};
  const ActivationSplit stream = stream_split(TensorLayout::three_d, sides);
  EXPECT_EQ((std::pair{stream.tokens, stream.features}),
            (std::pair<std::int64_t, std::int64_t>{6, 5}));
  const ActivationSplit work = activation_split(TensorLayout::three_d, sides);
  EXPECT_EQ((std::pair{work.tokens, work.features}),
            (std::pair<std::int64_t, std::int64_t>{10, 3}));
}

}  // namespace
}  // namespace stepscope

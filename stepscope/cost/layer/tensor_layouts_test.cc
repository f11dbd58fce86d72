// SPDX-License-Identifier: Apache-2.0
// Each layout's algorithm runs on real matrices spread over virtual devices. Its product must be
// correct, and the elements sent by each device must equal the closed formula exactly.
#include "stepscope/cost/layer/tensor_layouts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

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

// 1d, W by columns.
Sent run_columns(const Layer& a, Size t, bool sequence_parallel) {
  std::array<Devices, 3> wires{Devices(t), Devices(t), Devices(t)};
  Group all;
  std::vector<Matrix> x_rows;
  for (Size d = 0; d < t; ++d) {
    all.push_back(d);
    x_rows.push_back(block(a.x, t, 1, d, 0));
  }
  const Matrix x = sequence_parallel ? wires[0].all_gather(all, x_rows) : a.x;
  const Matrix again = sequence_parallel ? wires[2].all_gather(all, x_rows) : a.x;
  std::vector<Matrix> dx;
  for (Size d = 0; d < t; ++d) {
    const Matrix w = block(a.w, 1, t, 0, d);
    const Matrix dy = block(a.dy, 1, t, 0, d);
    EXPECT_EQ(product(x, w), block(product(a.x, a.w), 1, t, 0, d));
    EXPECT_EQ(product(transposed(again), dy), block(product(transposed(a.x), a.dy), 1, t, 0, d));
    dx.push_back(product(dy, transposed(w)));
  }
  const Matrix whole =
      sequence_parallel ? stacked(wires[1].reduce_scatter(all, dx)) : wires[1].all_reduce(all, dx);
  EXPECT_EQ(whole, product(a.dy, transposed(a.w)));
  return {wires[0].sent(), wires[1].sent(), wires[2].sent()};
}

// 1d, W by rows.
Sent run_rows(const Layer& a, Size t, bool sequence_parallel) {
  std::array<Devices, 3> wires{Devices(t), Devices(t), Devices(t)};
  Group all;
  std::vector<Matrix> y;
  std::vector<Matrix> dy_rows;
  for (Size d = 0; d < t; ++d) {
    all.push_back(d);
    y.push_back(product(block(a.x, 1, t, 0, d), block(a.w, t, 1, d, 0)));
    dy_rows.push_back(block(a.dy, t, 1, d, 0));
  }
  const Matrix whole =
      sequence_parallel ? stacked(wires[0].reduce_scatter(all, y)) : wires[0].all_reduce(all, y);
  EXPECT_EQ(whole, product(a.x, a.w));
  const Matrix dy = sequence_parallel ? wires[1].all_gather(all, dy_rows) : a.dy;
  for (Size d = 0; d < t; ++d) {
    EXPECT_EQ(product(dy, transposed(block(a.w, t, 1, d, 0))),
              block(product(a.dy, transposed(a.w)), 1, t, 0, d));
    EXPECT_EQ(product(transposed(block(a.x, 1, t, 0, d)), dy),
              block(product(transposed(a.x), a.dy), t, 1, d, 0));
  }
  return {wires[0].sent(), wires[1].sent(), wires[2].sent()};
}

// 2d and 2.5d: device (i, j) of grid e is number (e q + i) q + j.
struct Grids {
  Size q;
  Size depth;

  [[nodiscard]] Size number(Size e, Size i, Size j) const { return (e * q + i) * q + j; }
  [[nodiscard]] Group row(Size e, Size i) const {
    Group g;
    for (Size j = 0; j < q; ++j) g.push_back(number(e, i, j));
    return g;
  }
  [[nodiscard]] Group column(Size e, Size j) const {
    Group g;
    for (Size i = 0; i < q; ++i) g.push_back(number(e, i, j));
    return g;
  }
  // Block (i, j) of grid e's rows of a matrix.
  [[nodiscard]] Matrix part(const Matrix& m, Size e, Size i, Size j) const {
    return block(block(m, depth, 1, e, 0), q, q, i, j);
  }
};

void summa_forward(const Layer& a, const Grids& g, Size e, Devices& wire) {
  const Matrix y = product(a.x, a.w);
  std::vector<Matrix> sums(g.q * g.q);
  for (Size step = 0; step < g.q; ++step) {
    std::vector<Matrix> x_panel;
    std::vector<Matrix> w_panel;
    for (Size i = 0; i < g.q; ++i) {
      x_panel.push_back(wire.broadcast(g.row(e, i), step, g.part(a.x, e, i, step)));
      w_panel.push_back(wire.broadcast(g.column(e, i), step, block(a.w, g.q, g.q, step, i)));
    }
    for (Size i = 0; i < g.q; ++i) {
      for (Size j = 0; j < g.q; ++j) add_to(sums[i * g.q + j], product(x_panel[i], w_panel[j]));
    }
  }
  for (Size i = 0; i < g.q; ++i) {
    for (Size j = 0; j < g.q; ++j) EXPECT_EQ(sums[i * g.q + j], g.part(y, e, i, j));
  }
}

void summa_input_gradient(const Layer& a, const Grids& g, Size e, Devices& wire) {
  const Matrix dx = product(a.dy, transposed(a.w));
  for (Size step = 0; step < g.q; ++step) {
    std::vector<Matrix> w_panel;
    for (Size j = 0; j < g.q; ++j) {
      w_panel.push_back(wire.broadcast(g.column(e, j), step, block(a.w, g.q, g.q, step, j)));
    }
    for (Size i = 0; i < g.q; ++i) {
      std::vector<Matrix> partial;
      for (Size j = 0; j < g.q; ++j) {
        partial.push_back(product(g.part(a.dy, e, i, j), transposed(w_panel[j])));
      }
      EXPECT_EQ(wire.reduce(g.row(e, i), step, partial), g.part(dx, e, i, step));
    }
  }
}

// Blocks of dW from this grid's rows, one after another.
std::vector<Matrix> summa_weight_gradient(const Layer& a, const Grids& g, Size e, Devices& wire) {
  std::vector<Matrix> dw(g.q * g.q);
  for (Size step = 0; step < g.q; ++step) {
    std::vector<Matrix> x_panel;
    for (Size i = 0; i < g.q; ++i) {
      x_panel.push_back(wire.broadcast(g.row(e, i), step, g.part(a.x, e, i, step)));
    }
    for (Size j = 0; j < g.q; ++j) {
      std::vector<Matrix> partial;
      for (Size i = 0; i < g.q; ++i) {
        partial.push_back(product(transposed(x_panel[i]), g.part(a.dy, e, i, j)));
      }
      dw[step * g.q + j] = wire.reduce(g.column(e, j), step, partial);
    }
  }
  return dw;
}

Sent run_grids(const Layer& a, Size q, Size depth) {
  const Grids g{q, depth};
  const Size n = q * q * depth;
  std::array<Devices, 3> wires{Devices(n), Devices(n), Devices(n)};
  std::vector<std::vector<Matrix>> dw;
  for (Size e = 0; e < depth; ++e) {
    summa_forward(a, g, e, wires[0]);
    summa_input_gradient(a, g, e, wires[1]);
    dw.push_back(summa_weight_gradient(a, g, e, wires[2]));
  }
  const Matrix whole = product(transposed(a.x), a.dy);
  for (Size i = 0; i < q; ++i) {
    for (Size j = 0; j < q; ++j) {
      Group through;
      std::vector<Matrix> copies;
      for (Size e = 0; e < depth; ++e) {
        through.push_back(g.number(e, i, j));
        copies.push_back(dw[e][i * q + j]);
      }
      EXPECT_EQ(wires[2].all_reduce(through, copies), block(whole, q, q, i, j));
    }
  }
  return {wires[0].sent(), wires[1].sent(), wires[2].sent()};
}

// 3d. Axis 0, 1, 2: groups along i, j, l of device (i, j, l).
struct Cube {
  Size q;

  [[nodiscard]] Group along(Size axis, Size a, Size b) const {
    Group g;
    for (Size v = 0; v < q; ++v) {
      g.push_back(axis == 0   ? (v * q + a) * q + b
                  : axis == 1 ? (a * q + v) * q + b
                              : (a * q + b) * q + v);
    }
    return g;
  }
  // The q row parts of block (r, c), one per member of the group that shares it.
  [[nodiscard]] std::vector<Matrix> shares(const Matrix& m, Size r, Size c) const {
    std::vector<Matrix> parts;
    for (Size v = 0; v < q; ++v) parts.push_back(block(block(m, q, q, r, c), q, 1, v, 0));
    return parts;
  }
  void for_pairs(const std::function<void(Size, Size)>& f) const {
    for (Size a = 0; a < q; ++a) {
      for (Size b = 0; b < q; ++b) f(a, b);
    }
  }
};

Sent run_cube(const Layer& a, Size q) {
  const Cube cube{q};
  std::array<Devices, 3> wires{Devices(q * q * q), Devices(q * q * q), Devices(q * q * q)};
  auto& [forward, backward_x, backward_w] = wires;
  const auto grid = [q] { return std::vector<Matrix>(q * q); };
  auto x = grid();
  auto x_again = grid();
  auto w = grid();
  auto dy = grid();
  auto w_again = grid();
  cube.for_pairs([&](Size r, Size c) {  // block (r, c) of each matrix
    x[r * q + c] = forward.all_gather(cube.along(1, r, c), cube.shares(a.x, r, c));
    x_again[r * q + c] = backward_w.all_gather(cube.along(1, r, c), cube.shares(a.x, r, c));
    w[r * q + c] = forward.all_gather(cube.along(0, c, r), cube.shares(a.w, r, c));
    w_again[r * q + c] = backward_x.all_gather(cube.along(0, c, r), cube.shares(a.w, r, c));
    dy[r * q + c] = backward_x.all_gather(cube.along(2, r, c), cube.shares(a.dy, r, c));
  });
  const Matrix y_all = product(a.x, a.w);
  const Matrix dx_all = product(a.dy, transposed(a.w));
  const Matrix dw_all = product(transposed(a.x), a.dy);
  cube.for_pairs([&](Size r, Size c) {
    std::vector<Matrix> y;   // of Y's block (r, c), from all l
    std::vector<Matrix> dx;  // of dX's, from all j
    std::vector<Matrix> dw;  // of dW's, from all i
    for (Size v = 0; v < q; ++v) {
      y.push_back(product(x[r * q + v], w[v * q + c]));
      dx.push_back(product(dy[r * q + v], transposed(w_again[c * q + v])));
      dw.push_back(product(transposed(x_again[v * q + r]), dy[v * q + c]));
    }
    EXPECT_EQ(forward.reduce_scatter(cube.along(2, r, c), y), cube.shares(y_all, r, c));
    EXPECT_EQ(backward_x.reduce_scatter(cube.along(1, r, c), dx), cube.shares(dx_all, r, c));
    EXPECT_EQ(backward_w.reduce_scatter(cube.along(0, c, r), dw), cube.shares(dw_all, r, c));
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
  return {.devices = tp, .tp = tp, .tensor_layout = layout, .tp_depth = depth};
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
  for (const Size t : {1U, 2U, 3U, 4U}) {
    for (const bool sequence_parallel : {false, true}) {
      const Layer a = layer(t, t, t);
      const DeviceGrid grid = device_grid(plan_of(TensorLayout::one_d, static_cast<int>(t)));
      expect_sent(run_columns(a, t, sequence_parallel),
                  linear_layout(TensorLayout::one_d, grid, shape_of(a), LinearPlace::first,
                                sequence_parallel ? static_cast<int>(t) : 1));
      expect_sent(run_rows(a, t, sequence_parallel),
                  linear_layout(TensorLayout::one_d, grid, shape_of(a), LinearPlace::second,
                                sequence_parallel ? static_cast<int>(t) : 1));
    }
  }
}

TEST_P(RandomShapes, SquareGridsSendWhatSummaSays) {
  for (const Size q : {1U, 2U, 3U, 4U}) {
    const Layer a = layer(q, q, q);
    const DeviceGrid grid = device_grid(plan_of(TensorLayout::two_d, static_cast<int>(q * q)));
    expect_sent(run_grids(a, q, 1),
                linear_layout(TensorLayout::two_d, grid, shape_of(a), LinearPlace::first));
  }
}

TEST_P(RandomShapes, CopiedGridsSendWhatTesseractSays) {
  for (const auto& [q, d] : {std::pair<Size, Size>{2, 2}, {3, 2}, {3, 3}, {1, 1}, {4, 2}}) {
    const Layer a = layer(q * d, q * d, q);
    const DeviceGrid grid = device_grid(
        plan_of(TensorLayout::two_and_half_d, static_cast<int>(q * q * d), static_cast<int>(d)));
    expect_sent(run_grids(a, q, d),
                linear_layout(TensorLayout::two_and_half_d, grid, shape_of(a), LinearPlace::first));
  }
}

TEST_P(RandomShapes, CubesSendWhatAgarwalSays) {
  for (const Size q : {1U, 2U, 3U}) {
    const Layer a = layer(q * q, q * q, q);
    const DeviceGrid grid =
        device_grid(plan_of(TensorLayout::three_d, static_cast<int>(q * q * q)));
    for (const LinearPlace place : {LinearPlace::first, LinearPlace::second}) {
      expect_sent(run_cube(a, q), linear_layout(TensorLayout::three_d, grid, shape_of(a), place));
    }
  }
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
        linear_layout(plan.tensor_layout, device_grid(plan), shape, LinearPlace::first);
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
        linear_layout(plan.tensor_layout, device_grid(plan), shape, LinearPlace::first);
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
}

}  // namespace
}  // namespace stepscope

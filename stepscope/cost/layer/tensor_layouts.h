// SPDX-License-Identifier: Apache-2.0
// The division of one linear layer Y[T, n] = X[T, k] W[k, n] over the tp devices, and its cost:
// shapes on a device, local products, and communication. Derivations, with their sources, are in
// docs/dev/layouts.md. The test runs each algorithm on real matrices and counts.
//
//   1d    W by columns (first) or rows (second). X is whole or, if sequence parallel, cut by rows
//         into s parts.
//   2d    SUMMA on a x b devices: X, W and Y are a x b blocks (van de Geijn and Watts 1997).
//   2.5d  d such grids, each with its own T / d rows of X and a copy of W (Tesseract, 2021, after
//         Solomonik and Demmel 2011).
//   3d    a x b x c devices, each with 1 / (a b c) of every matrix (Agarwal et al. 1995).
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// tensor_grid. REQUIRES: a plan that check_plan accepts.
[[nodiscard]] DeviceGrid device_grid(const Plan& plan);

// Number of parts of activations between two layers: of their tokens, and of their features if each
// device works on a slice of them (heads; columns of a hidden layer).
struct ActivationSplit {
  std::int64_t tokens = 1;
  std::int64_t features = 1;
};
[[nodiscard]] ActivationSplit activation_split(TensorLayout layout, const DeviceGrid& grid);
// The same for the input of a first and the output of a second linear layer: norms and residuals.
// 1d: one part of each.
[[nodiscard]] ActivationSplit stream_split(TensorLayout layout, const DeviceGrid& grid);
// The group of devices that together have whole rows of that input.
[[nodiscard]] ParallelDim stream_row_dim(TensorLayout layout);

// Two consecutive linear layers: the second takes the layout that the first leaves. 1d: columns,
// rows; 3d: the second swaps the groups of input and output.
enum class LinearPlace : std::uint8_t { first, second };

struct LinearShape {
  std::int64_t tokens = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// Rows and columns of a device's part, rounded up if they do not divide evenly.
struct Block {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// `count` calls on a total buffer of `elements` each, within groups of `group` devices.
struct LayoutCall {
  CollectiveKind kind{};
  ParallelDim dim{};
  std::int64_t group = 1;
  double elements = 0;
  std::int64_t count = 1;
};

struct LinearLayout {
  // On each device between layers.
  Block input;
  Block weight;
  Block output;
  double input_elements = 0;  // exact, even if blocks are rounded
  double weight_elements = 0;
  double output_elements = 0;
  // `steps` local products [m, k] x [k, n]. Either gradient has the same number of products of the
  // same size.
  std::int64_t steps = 1;
  MatmulShape product;
  std::vector<LayoutCall> forward{};
  std::vector<LayoutCall> input_gradient{};   // dX = dY W^T
  std::vector<LayoutCall> weight_gradient{};  // dW = X^T dY, without data that dX already brought
};

// Groups of one device need no calls and get none.
[[nodiscard]] LinearLayout linear_layout(TensorLayout layout, const DeviceGrid& grid,
                                         const LinearShape& shape, LinearPlace place,
                                         std::int64_t sequence_parts = 1);
// The group that gathers the parts of a sequence.
[[nodiscard]] constexpr ParallelDim sequence_dim(std::int64_t tp, std::int64_t sequence_parts) {
  return sequence_parts == tp ? ParallelDim::tensor : ParallelDim::sequence;
}
// The calls (1d) after which every device has the sum of its part of `elements` over tp devices,
// for any number of parts of the sequence.
void add_reduction(std::vector<LayoutCall>& calls, std::int64_t tp, std::int64_t sequence_parts,
                   double elements);

}  // namespace stepscope

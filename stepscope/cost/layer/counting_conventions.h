// SPDX-License-Identifier: Apache-2.0
// The conventions of counting on which texts about transformers differ. The defaults are what
// stepscope predicts with; another text's figures are reproduced by stating its conventions here
// (docs/reference/notebook.md), never by code of its own.
#pragma once

#include <cstdint>

namespace stepscope {

// Arithmetic of an elementwise operation: FLOPs of each element, less what a row saves (the sum of
// n numbers takes n - 1 adds). A transcendental function counts as one.
struct VectorCount {
  double forward = 0;
  double backward = 0;
  double forward_row = 0;
  double backward_row = 0;
};

enum class BackwardTraffic : std::uint8_t {
  every_read,     // each product reads its operands: the gradient of a matmul's output twice
  operands_once,  // as if both products shared one read
  one_gradient    // besides, pointwise operations move one gradient of two, and no gradient of
                  // attention's values is written
};

// Where an all-gather stands: at the operation that reads the whole tensor (and can overlap it), or
// at the one that wrote the parts.
enum class GatherPlace : std::uint8_t { reader, writer };

struct Counting {
  bool exact_adds = false;      // [m, k] x [k, n] takes m n (2k - 1), not 2 m n k; the bias counts
                                // as the missing add, on the matrix units
  bool reduction_adds = false;  // the adds of a reduction over n ranks count where it happens:
                                // (n - 1) / n of the buffer on each
  // Sequence parallel: a matmul keeps the whole input, not its own part to gather again backward.
  bool keeps_gathered = false;
  bool statistics = true;  // keep and move the small: means and variances, log-sum-exp, indices
  BackwardTraffic backward_traffic = BackwardTraffic::every_read;
  GatherPlace gather_place = GatherPlace::reader;
  // Layer norm forward: mean 1, deviation 1, variance 2, scaling 1, gain and shift 2. Backward:
  // gain 1, normalised input 2, two row sums 3, combining 4, gradients of gain and shift 3.
  VectorCount layer_norm{.forward = 7, .backward = 13};
  VectorCount rms_norm{.forward = 4, .backward = 9};
  // Forward: maximum, difference, exponential, sum, quotient; backward: row sum 2, difference,
  // product.
  VectorCount softmax{.forward = 5, .backward = 4};
  VectorCount gelu{.forward = 8, .backward = 13};  // with tanh
  VectorCount silu{.forward = 4, .backward = 6};
  VectorCount relu{.forward = 1, .backward = 1};
  VectorCount gate{.forward = 1, .backward = 2};  // of a gated activation: the product
  VectorCount dropout{.forward = 1, .backward = 1};
  VectorCount residual{.forward = 1, .backward = 1};
  VectorCount rotary{.forward = 3, .backward = 3};
};

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Conventions of counting in which texts about transformers differ. stepscope predicts with the
// defaults. The figures of another text are reproduced by setting its conventions here
// (docs/reference/notebook.md), never by separate code.
#pragma once

#include <cstdint>

namespace stepscope {

// Arithmetic of an elementwise operation: FLOPs per element, minus the savings per row (the sum of
// n numbers takes n - 1 adds). A transcendental function counts as one.
struct VectorCount {
  double forward = 0;
  double backward = 0;
  double forward_row = 0;
  double backward_row = 0;
};

enum class BackwardTraffic : std::uint8_t {
  every_read,     // each product reads its operands: the gradient of a matmul's output twice
  operands_once,  // both products share one read
  one_gradient    // also, pointwise operations move one gradient of two, and the gradient of
                  // attention's values is not written
};

// Operation to which an all-gather belongs: the one that reads the whole tensor (and can overlap
// it), or the one that wrote the parts.
enum class GatherPlace : std::uint8_t { reader, writer };

struct Counting {
  bool exact_adds = false;      // [m, k] x [k, n] takes m n (2k - 1), not 2 m n k; the bias counts
                                // as the missing add, on the matrix units
  bool reduction_adds = false;  // the adds of a reduction over n ranks count at the place of the
                                // reduction: (n - 1) / n of the buffer on each
  // Sequence parallel: a matmul keeps the whole input instead of gathering it again in backward.
  bool keeps_gathered = false;
  bool residual_additions = true;  // the additions to the stream are operations
  bool statistics = true;  // keep and move small data: means and variances, log-sum-exp, indices
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

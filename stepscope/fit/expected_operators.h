// SPDX-License-Identifier: Apache-2.0
// What the operators of a trace should take on a machine, by their recorded shapes and the curves
// that were measured on it (cost/time/compute_time.h), beside what their kernels took. Needs no
// model.
//
// Products and attention: the time of their arithmetic at the efficiency of that shape and of their
// operands' traffic; norms, elementwise and the like: their least traffic. Launches are left out,
// as a kernel's duration has none. Convolutions have no curve, and what a fused kernel moves is not
// recorded: both stay without an expectation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {

// One name, shape and type; seconds over all steps of the rank.
struct ExpectedOperator {
  const OperatorRow* row = nullptr;
  double expected = 0;
  double measured = 0;

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] double ratio() const { return measured / expected; }
};

struct ExpectedOperatorClass {
  NameClass kind = NameClass::other;
  double expected = 0;
  double measured = 0;  // of the operators that have an expectation
  double unknown = 0;   // measured time of those that have none

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] std::optional<double> ratio() const {
    return expected > 0 ? std::optional(measured / expected) : std::nullopt;
  }
};

struct ExpectedOperators {
  int rank = 0;
  std::vector<ExpectedOperatorClass> classes{};  // largest gap first; those with an expectation,
                                                 // and matmul and attention
  std::vector<ExpectedOperator> operators{};     // likewise
  std::vector<std::string> assumptions{};        // what the machine does not say
};

// `rank` outlives the result. Errors: what the machine lacks for every format of the products.
// Absent operators: the trace has no shapes.
[[nodiscard]] Result<ExpectedOperators> expected_operators(const RankResult& rank,
                                                           const Machine& machine);

// The product that an ATen operator ("aten::addmm") multiplies; absent for what is none, or
// several.
[[nodiscard]] std::optional<MatmulShape> product_shape(std::string_view name,
                                                       const OpInputs& inputs);

}  // namespace stepscope

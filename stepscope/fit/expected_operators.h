// SPDX-License-Identifier: Apache-2.0
// Expected times of a trace's operators on a machine, from their recorded shapes and the machine's
// measured curves (cost/time/compute_time.h), compared with the measured times of their kernels.
// Needs no model.
//
// Products and attention: the time of their arithmetic at the efficiency of their shape, and of
// their operands' traffic. Norms, elementwise and similar operators: their least traffic. A kernel
// takes at least 1.5 us. Copies between host and device: the rate of the host's link. Launches are
// left out, because a kernel's duration contains none. Convolutions (no curve) and fused kernels
// whose traffic is not known have no expectation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/rank_result.h"
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
  double measured = 0;  // of operators with an expectation
  double unknown = 0;   // measured time of operators without one

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] std::optional<double> ratio() const {
    return expected > 0 ? std::optional(measured / expected) : std::nullopt;
  }
};

struct ExpectedOperators {
  int rank = 0;
  std::vector<ExpectedOperatorClass> classes{};  // largest gap first; classes with an expectation,
                                                 // plus matmul and attention
  std::vector<ExpectedOperator> operators{};     // largest gap first; operators with an expectation
  std::vector<std::string> assumptions{};        // values that the machine lacks, with substitutes
};

// `rank` must outlive the result. Errors: values that the machine lacks for every format of the
// products. No operators: the trace has no shapes.
[[nodiscard]] Result<ExpectedOperators> expected_operators(const RankResult& rank,
                                                           const Machine& machine);

// The matrix product of an ATen operator ("aten::addmm"); absent for operators with none or
// several.
[[nodiscard]] std::optional<MatmulShape> product_shape(std::string_view name,
                                                       const OpInputs& inputs);

}  // namespace stepscope

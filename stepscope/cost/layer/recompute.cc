// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/layer/recompute.h"

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

double all_kept(std::span<const Operation> operations) {
  double sum = 0;
  for (const Operation& op : operations) sum += op.kept_bytes;
  return sum;
}

// The core's inputs come back with the matmul that makes them. Its output is the last core
// operation's. Of the matmuls with weights every second is kept, beginning with the first.
double kept_of_operations(std::span<const Operation> operations) {
  double sum = 0;
  double core_output = 0;
  bool keeps = true;
  for (const Operation& op : operations) {
    if (op.attention_core) {
      sum += op.kept_bytes - op.core_input_bytes;
      core_output = op.forward.output_bytes;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(op.products); ++i, keeps = !keeps) {
      if (keeps) sum += op.product_outputs[i];
    }
  }
  return sum + core_output;
}

}  // namespace

Recompute recompute_at(const Plan& plan, std::int64_t layer_of_stage) {
  if (plan.recompute != Recompute::every_k) return plan.recompute;
  return layer_of_stage % plan.recompute_every == 0 ? Recompute::none : Recompute::full;
}

double share_again(const Operation& operation, Recompute how) {
  const bool core = operation.attention_core;
  switch (how) {
    case Recompute::none:
    case Recompute::every_k:
      return 0;
    case Recompute::selective:
      return core ? 1 : 0;
    case Recompute::operations:
      if (core) return 0;
      return operation.kind == OperationClass::matmul ? 0.5 : 1;
    case Recompute::full:
      return 1;
  }
  return 0;
}

namespace {

template <formula::Number N>
N kept(std::span<const Operation> operations, Recompute how, double input_bytes) {
  check(how != Recompute::every_k, "every_k is decided layer by layer");
  N input = formula::bytes<N>(input_bytes, "input of the layer");
  if (how == Recompute::full) return input;
  if (how == Recompute::operations)
    return input + formula::bytes<N>(kept_of_operations(operations), "kept outputs");
  formula::Total<N> sum("operations");
  for (const Operation& op : operations) {
    const bool again = how == Recompute::selective && op.attention_core;
    sum.add(formula::bytes<N>(again ? op.core_input_bytes : op.kept_bytes, "what it keeps"));
  }
  return sum.value();
}

}  // namespace

double kept_bytes(std::span<const Operation> operations, Recompute how, double input_bytes) {
  return kept<double>(operations, how, input_bytes);
}

Formula kept_bytes_formula(std::span<const Operation> operations, Recompute how,
                           double input_bytes) {
  return kept<Formula>(operations, how, input_bytes);
}

double recomputed_bytes(std::span<const Operation> operations, Recompute how, double input_bytes) {
  return all_kept(operations) - kept_bytes(operations, how, input_bytes);
}

}  // namespace stepscope

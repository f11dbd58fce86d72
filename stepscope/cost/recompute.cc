// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/recompute.h"

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

double all_kept(std::span<const Operation> operations) {
  double sum = 0;
  for (const Operation& op : operations) sum += op.kept_bytes;
  return sum;
}

}  // namespace

Recompute recompute_at(const Plan& plan, std::int64_t layer_of_stage) {
  if (plan.recompute != Recompute::every_k) return plan.recompute;
  return layer_of_stage % plan.recompute_every == 0 ? Recompute::none : Recompute::full;
}

bool runs_again(const Operation& operation, Recompute how) {
  return how == Recompute::full || (how == Recompute::selective && operation.attention_core);
}

double kept_bytes(std::span<const Operation> operations, Recompute how, double input_bytes) {
  check(how != Recompute::every_k, "every_k is decided layer by layer");
  if (how == Recompute::full) return input_bytes;
  double sum = 0;
  for (const Operation& op : operations) {
    sum += runs_again(op, how) ? op.core_input_bytes : op.kept_bytes;
  }
  return sum;
}

double recomputed_bytes(std::span<const Operation> operations, Recompute how, double input_bytes) {
  return all_kept(operations) - kept_bytes(operations, how, input_bytes);
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/layer/recompute.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

double all_kept(std::span<const Operation> operations) {
  double sum = 0;
  for (const Operation& op : operations) sum += op.kept_bytes + op.again_bytes;
  return sum;
}

// Operations by the module that repeats them, and by the module whose repetition brings back what
// they keep. A module's first operation keeps the module's input.
struct ModuleOf {
  std::string_view operation;
  RecomputeModule module;
};
using enum RecomputeModule;
constexpr std::array<ModuleOf, 32> repeated = {{{"hyper_collapse", hyper_connections},
                                                {"hyper_merge", hyper_connections},
                                                {"attention_norm", norms},
                                                {"feed_forward_norm", norms},
                                                {"expert_activation", expert_activation},
                                                {"router", experts},
                                                {"router_softmax", experts},
                                                {"expert_latent_down", experts},
                                                {"dispatch", experts},
                                                {"expert_fc1", experts},
                                                {"expert_activation", experts},
                                                {"expert_fc2", experts},
                                                {"combine", experts},
                                                {"expert_latent_up", experts},
                                                {"shared_fc1", experts},
                                                {"shared_activation", experts},
                                                {"shared_fc2", experts},
                                                {"shared_gate", experts},
                                                {"shared_gating", experts},
                                                {"fc1", feed_forward},
                                                {"activation", feed_forward},
                                                {"fc2", feed_forward},
                                                {"q_up", latent_up},
                                                {"kv_up", latent_up},
                                                {"expert_fc1_lora", experts},
                                                {"expert_fc2_lora", experts},
                                                {"shared_fc1_lora", experts},
                                                {"shared_fc2_lora", experts},
                                                {"fc1_lora", feed_forward},
                                                {"fc2_lora", feed_forward},
                                                {"q_up_lora", latent_up},
                                                {"kv_up_lora", latent_up}}};
constexpr std::array<ModuleOf, 32> brought_back = {{{"hyper_maps", hyper_connections},
                                                    {"attention_norm", hyper_connections},
                                                    {"feed_forward_norm", hyper_connections},
                                                    {"qkv_proj", norms},
                                                    {"q_proj", norms},
                                                    {"q_down", norms},
                                                    {"linear_in_proj", norms},
                                                    {"state_in_proj", norms},
                                                    {"router", norms},
                                                    {"fc1", norms},
                                                    {"expert_fc2", expert_activation},
                                                    {"router_softmax", experts},
                                                    {"expert_fc1", experts},
                                                    {"expert_activation", experts},
                                                    {"expert_fc2", experts},
                                                    {"expert_latent_up", experts},
                                                    {"shared_activation", experts},
                                                    {"shared_fc2", experts},
                                                    {"activation", feed_forward},
                                                    {"fc2", feed_forward},
                                                    {"attention", latent_up},
                                                    {"qkv_proj_lora", norms},
                                                    {"q_proj_lora", norms},
                                                    {"q_down_lora", norms},
                                                    {"linear_in_proj_lora", norms},
                                                    {"state_in_proj_lora", norms},
                                                    {"fc1_lora", norms},
                                                    {"expert_fc2_lora", expert_activation},
                                                    {"expert_fc1_lora", experts},
                                                    {"expert_fc2_lora", experts},
                                                    {"shared_fc2_lora", experts},
                                                    {"fc2_lora", feed_forward}}};

bool in_some(std::span<const ModuleOf> table, std::string_view operation,
             const RecomputeModules& modules) {
  return std::ranges::any_of(table, [&](const ModuleOf& of) {
    return of.operation == operation && modules.has(of.module);
  });
}

// The core's inputs come back with the matmul that makes them. Its output is the last core
// operation's. Every second matmul with weights is kept, beginning with the first.
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
  if (plan.memory.recompute != Recompute::every_k) return plan.memory.recompute;
  return layer_of_stage % plan.memory.recompute_every == 0 ? Recompute::none : Recompute::full;
}

void repeat_modules(const Plan& plan, std::span<Operation> operations) {
  const RecomputeModules& modules = plan.memory.recompute_modules;
  if (modules.bits == 0) return;
  for (Operation& op : operations) {
    const bool core = op.attention_core && modules.has(core_attention);
    op.again = core || in_some(repeated, op.name, modules);
    double back = core ? op.kept_bytes - op.core_input_bytes : 0;
    if (in_some(brought_back, op.name, modules)) {
      back = op.attention_core ? back + op.core_input_bytes : op.kept_bytes;
    }
    op.kept_bytes -= back;
    op.again_bytes = back;
  }
}

double share_again(const Operation& operation, Recompute how) {
  const bool core = operation.attention_core;
  if (operation.forward_only) return 0;
  if (operation.again && how <= Recompute::selective) return 1;
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
  const bool only_forward =
      !operations.empty() && std::ranges::all_of(operations, &Operation::forward_only);
  if (only_forward) return formula::bytes<N>(0, "none: the layer has no backward");
  N input = formula::bytes<N>(input_bytes, "input of the layer");
  if (how == Recompute::full) return input;
  if (how == Recompute::operations)
    return input + formula::bytes<N>(kept_of_operations(operations), "kept outputs");
  formula::Total<N> sum("operations");
  for (const Operation& op : operations) {
    const bool again = how == Recompute::selective && op.attention_core;
    const double kept = again ? std::min(op.core_input_bytes, op.kept_bytes) : op.kept_bytes;
    sum.add(formula::bytes<N>(kept, "what it keeps"));
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

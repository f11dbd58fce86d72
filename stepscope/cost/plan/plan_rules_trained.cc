// SPDX-License-Identifier: Apache-2.0
// Adapters and frozen parts.
#include <array>
#include <utility>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_rules.h"

namespace stepscope::plan_rules {
namespace {

std::string name_of(LoraTarget target) {
  return std::string(lora_target_names[static_cast<std::size_t>(target)]);
}

// An adapter for the whole matrix and one for a part of it would be two for the same weights.
Problem whole_and_part(const Plan& p) {
  using enum LoraTarget;
  constexpr std::array<std::pair<LoraTarget, LoraTarget>, 5> pairs = {{{linear_qkv, q_proj},
                                                                       {linear_qkv, k_proj},
                                                                       {linear_qkv, v_proj},
                                                                       {linear_fc1, gate_proj},
                                                                       {linear_fc1, up_proj}}};
  const LoraTargets& targets = p.trained.lora_targets;
  for (const auto& [whole, part] : pairs)
    if (targets.has(whole) && targets.has(part))
      return problem(flag_of(p, &targets.bits) + " has " + name_of(whole) + " and " +
                         name_of(part) + ", which is a part of it",
                     "leave one of them out");
  return std::nullopt;
}

Problem adapters(const Transformer& m, const Plan& p) {
  const LoraTargets& targets = p.trained.lora_targets;
  if (p.trained.lora_rank == 0) {
    if (targets.bits == 0) return std::nullopt;
    const std::string rank = flag_of(p, &p.trained.lora_rank);
    const std::string flag = flag_of(p, &targets.bits);
    return problem(flag + " without " + rank, "give " + rank + ", or leave " + flag + " out");
  }
  const LoraTargets known = lora_targets_in(m);
  std::string has;
  for (std::size_t i = 0; i < lora_target_names.size(); ++i)
    if (known.has(static_cast<LoraTarget>(i)))
      has += (has.empty() ? "" : ", ") + std::string(lora_target_names[i]);
  for (std::size_t i = 0; i < lora_target_names.size(); ++i) {
    const auto target = static_cast<LoraTarget>(i);
    if (targets.has(target) && !known.has(target))
      return problem(flag_of(p, &targets.bits) + " has " + name_of(target) + ", which " + m.name +
                         " has in no layer",
                     "it has " + has);
  }
  return whole_and_part(p);
}

Problem frozen_parts(const Transformer& m, const Plan& p) {
  const TrainedParts& t = p.trained;
  const auto frozen = [&t](ModelPart part) { return t.frozen.has(part); };
  if (m.tied_embeddings && frozen(ModelPart::embedding) != frozen(ModelPart::head))
    return problem("embedding and head of " + m.name + " are one table (tied_embeddings)",
                   "freeze both or neither");
  if (frozen(ModelPart::tower) && !m.tower)
    return problem(flag_of(p, &t.frozen.bits) + " has tower, which " + m.name + " does not have",
                   "leave it out");
  // Gradients pass back to the first layer with a part that trains, or to the embedding.
  const bool reached =
      trains(t, ModelPart::embedding) || (!frozen(ModelPart::layers) && t.frozen_layers == 0);
  if (m.tower && trains(t, ModelPart::tower) && !reached)
    return problem("the tower would train behind frozen layers and a frozen embedding",
                   "freeze the tower too, or train the embedding");
  if (trained_parameters(m, t) > 0) return std::nullopt;
  return problem("nothing is left to train: every part of " + m.name + " is frozen",
                 "freeze fewer parts or layers, or give " + flag_of(p, &t.lora_rank));
}

}  // namespace

Problem training(const Transformer& m, const Plan& p) {
  if (trains_all(p.trained)) return std::nullopt;
  if (Problem found = adapters(m, p)) return found;
  if (Problem found = frozen_parts(m, p)) return found;
  const std::string not_modelled = "frozen parts and adapters are not modelled with ";
  if (p.tensor.layout != TensorLayout::one_d)
    return problem(not_modelled + flag_with_value(p, &p.tensor.layout),
                   "use " + flag_of(p, &p.tensor.layout) + " 1d");
  if (!gathers_singly(p)) return std::nullopt;
  return problem(not_modelled + flag_of(p, &p.overlap.gather_singly), "leave it out");
}

}  // namespace stepscope::plan_rules

// SPDX-License-Identifier: Apache-2.0
// What a plan asks of the model and of its kernels.
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_rules.h"

namespace stepscope::plan_rules {

Problem tokens(const Transformer& m, const Plan& p) {
  const auto given = [&] { return flag_with_value(p, &p.batch.sequence); };
  if (m.patches && p.batch.sequence != image_tokens(*m.patches))
    return problem(
        given() + ", but an image of " + m.name + " has " + decimal(image_tokens(*m.patches)) +
            " tokens",
        "give " + flag_of(p, &p.batch.sequence) + " " + decimal(image_tokens(*m.patches)));
  if (m.positions == Positions::learned && p.batch.sequence > m.max_positions)
    return problem(
        given() + " exceeds the " + decimal(m.max_positions) + " learned positions of " + m.name,
        "raise max_positions in the model file, or shorten the sequence");
  return std::nullopt;
}

Problem recomputation(const Transformer& m, const Plan& p) {
  const MemoryPlan& use = p.memory;
  const auto modules = [&] { return flag_of(p, &use.recompute_modules); };
  const auto recompute = [&] { return flag_of(p, &use.recompute); };
  if (use.recompute_modules.has(RecomputeModule::hyper_connections) && !m.hyper)
    return problem(modules() + " has hyper_connections, which the model does not have",
                   "leave it out");
  const bool besides = use.recompute == Recompute::none || use.recompute == Recompute::selective;
  if (use.recompute_modules.bits != 0 && !besides)
    return problem(modules() + " with " + flag_with_value(p, &use.recompute),
                   "use them with " + recompute() + " none or selective");
  if (use.recompute == Recompute::every_k || use.recompute_every == 1) return std::nullopt;
  return problem(
      flag_with_value(p, &use.recompute_every) + " belongs to " + recompute() + " every:K",
      "leave it out or take " + recompute() + " every:K");
}

Problem narrow_copies(const Transformer& m, const Plan& p) {
  const auto without = [&p](const bool& field, const std::string& why, const std::string& remedy) {
    return problem(flag_of(p, &field) + " with " + why, "leave it out" + remedy);
  };
  const auto dtype = [&] { return flag_with_value(p, &p.precision.matmul); };
  const auto take = [&] { return " or take " + flag_of(p, &p.precision.matmul) + " fp8"; };
  const bool narrow = below_16_bits(p.precision.matmul);
  if (p.memory.narrow_swiglu && !(m.gated && m.activation == Activation::silu))
    return without(p.memory.narrow_swiglu, "a model that has no SwiGLU", "");
  if (p.kernels.fp8_rowwise && p.precision.matmul != Dtype::fp8)
    return without(p.kernels.fp8_rowwise, dtype(), take());
  if (p.experts.narrow_dispatch && !narrow)
    return without(p.experts.narrow_dispatch, dtype(), take() + " or fp4");
  if (!p.memory.narrow_attention_output) return std::nullopt;
  if (!narrow)
    return without(p.memory.narrow_attention_output,
                   dtype() + ", whose products read their inputs whole", take() + " or fp4");
  if (p.kernels.fused_attention) return std::nullopt;
  return without(p.memory.narrow_attention_output,
                 flag_with_value(p, &p.kernels.fused_attention) + ", which keeps its scores",
                 " or take " + flag_of(p, &p.kernels.fused_attention) + " fused");
}

Problem images(const Transformer& m, const Plan& p) {
  const BatchSizes& b = p.batch;
  const auto count = [&] { return flag_of(p, &b.images); };
  const auto patches = [&] { return flag_of(p, &b.image_patches); };
  if (!m.tower) {
    if (b.images == 0 && b.image_patches == 0) return std::nullopt;
    return problem(count() + " with a model that has no tower",
                   "leave " + count() + " and " + patches() + " out");
  }
  const Tower& t = *m.tower;
  if (p.tensor.layout != TensorLayout::one_d)
    return problem(flag_with_value(p, &p.tensor.layout) + " with a tower",
                   "use " + flag_of(p, &p.tensor.layout) + " 1d");
  const Int group = t.merge * t.merge;
  if (t.heads % p.tp != 0 || t.feed_forward % p.tp != 0 || group * t.hidden % p.tp != 0)
    return problem("the tower with " + decimal(t.heads) +
                       " heads and feed_forward = " + decimal(t.feed_forward) +
                       " cannot be split over " + flag_with_value(p, &p.tp),
                   flag_of(p, &p.tp) + " must divide both");
  if ((b.images == 0) != (b.image_patches == 0))
    return problem(
        b.images == 0 ? patches() + " without " + count() : count() + " without " + patches(),
        "give both or neither");
  if (b.image_patches % group != 0)
    return problem(flag_with_value(p, &b.image_patches) + " is no multiple of " + decimal(group) +
                       ", the patches of a token",
                   "give a multiple");
  const Int tokens = b.image_patches / group;
  if (tokens <= b.sequence && b.images <= b.sequence && b.images * tokens <= b.sequence)
    return std::nullopt;
  return problem("the images are " + decimal(b.images) + " * " + decimal(tokens) +
                     " tokens, more than " + flag_with_value(p, &b.sequence),
                 "give a longer sequence or fewer images");
}

}  // namespace stepscope::plan_rules

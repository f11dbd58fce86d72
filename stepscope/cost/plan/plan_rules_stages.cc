// SPDX-License-Identifier: Apache-2.0
// The division of experts, layers, batch and states over devices.
#include <numeric>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_rules.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope::plan_rules {
namespace {

Problem expert_tensor(const Plan& p) {
  const auto given = [&] { return flag_with_value(p, &p.experts.tp); };
  const auto tp = [&] { return flag_with_value(p, &p.tp); };
  if (p.experts.tp != 0 && p.experts.tp != 1 && p.experts.tp != p.tp)
    return problem(given() + " is neither 1 nor " + tp(), "it may be 1 or " + decimal(p.tp));
  if (!whole_experts(p)) return std::nullopt;
  if (p.tensor.layout == TensorLayout::one_d && sequence_parts(p) == p.tp) return std::nullopt;
  return problem(given() + " with " + tp() + " needs the tokens split over the tp ranks",
                 "set " + flag_of(p, &p.tensor.sequence_parallel) + ", in " +
                     flag_of(p, &p.tensor.layout) + " 1d without " +
                     flag_of(p, &p.tensor.sequence_degree));
}

Problem given_stages(const Transformer& m, const Plan& p, Int stages) {
  const auto& list = p.pipeline.stage_layers;
  const auto flag = [&] { return flag_of(p, &list); };
  if (list.size() != static_cast<std::size_t>(stages))
    return problem(flag() + " has " + std::to_string(list.size()) + " entries for " +
                       product_of(p, {&p.pp, &p.pipeline.virtual_stages}) + " = " +
                       decimal(stages) + " stages",
                   "give one for each");
  Int sum = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool end = i == 0 || i + 1 == list.size();
    if (list[i] < (end ? 0 : 1) || list[i] > m.layers)
      return problem(flag() + " has " + decimal(list[i]) + " for stage " + std::to_string(i),
                     "a stage has 1 to " + decimal(m.layers) +
                         " layers, the first and the last may have none");
    sum += list[i];
  }
  if (sum == m.layers) return std::nullopt;
  return problem(flag() + " add up to " + decimal(sum) + ", and " + m.name + " has " +
                     decimal(m.layers) + " layers",
                 "as even as can be: " + joined(even_stages(m.layers, stages)));
}

Problem dualpipe(const Plan& p) {
  const auto pp = [&] { return flag_of(p, &p.pp); };
  const auto schedule = [&] { return flag_with_value(p, &p.pipeline.schedule); };
  if (p.pp % 2 != 0)
    return problem(schedule() + " with " + flag_with_value(p, &p.pp),
                   "its stages are mirrored: " + pp() + " must be even");
  const Int m = micro_batches(p);
  if (m % 2 == 0 && m >= 2 * p.pp) return std::nullopt;
  return problem(
      schedule() + " with " + decimal(m) + " micro-batches on " + flag_with_value(p, &p.pp),
      "their number must be even, and 2 * " + pp() + " or more");
}

}  // namespace

Problem experts(const Transformer& m, const Plan& p) {
  const ExpertDivision& e = p.experts;
  const auto load = [&] { return flag_of(p, &e.load); };
  const auto sms = [&] { return flag_of(p, &e.sms); };
  if (auto found = m.experts ? expert_tensor(p) : std::nullopt) return found;
  if (!m.experts && (p.kernels.fused_experts || e.narrow_dispatch || e.load > 100 || e.sms > 0))
    return problem("a plan for experts, but " + m.name + " has none",
                   "leave out " + flag_of(p, &p.kernels.fused_experts) + ", " +
                       flag_of(p, &e.narrow_dispatch) + ", " + load() + " and " + sms());
  if (e.load > 100 && m.experts->capacity_factor)
    return problem(load() + " with a capacity that drops tokens", "leave it out");
  if (e.sms > 0 && !p.overlap.experts)
    return problem(sms() + " without " + flag_of(p, &p.overlap.experts),
                   "add it or leave " + sms() + " out");
  if (p.ep == 1) return std::nullopt;
  const std::string ep = flag_of(p, &p.ep);
  const std::string given = flag_with_value(p, &p.ep);
  if (!m.experts)
    return problem(given + ", but " + m.name + " has no experts", "leave " + ep + " out");
  if (m.experts->count % p.ep != 0)
    return problem(decimal(m.experts->count) + " experts cannot be split over " + given,
                   ep + " may be " + divisors(m.experts->count));
  const Int ranks = expert_ranks(p);
  if (ranks % p.ep == 0) return std::nullopt;
  return problem(given + " does not divide " +
                     (whole_experts(p) ? product_of(p, {&p.tp, &p.cp, &p.dp})
                                       : product_of(p, {&p.cp, &p.dp})) +
                     " = " + decimal(ranks) + ", whose ranks it is taken from",
                 ep + " may be " + divisors(std::gcd(m.experts->count, ranks)));
}

Problem stages(const Transformer& m, const Plan& p) {
  const auto& list = p.pipeline.stage_layers;
  const Int count = p.pp * p.pipeline.virtual_stages;
  const auto all = [&] {
    return product_of(p, {&p.pp, &p.pipeline.virtual_stages}) + " = " + decimal(count) + " stages";
  };
  constexpr Int ends = 2;  // stages that stage_layers may leave without layers
  if (count > m.layers + (list.empty() ? 0 : ends))
    return problem(all() + " for " + decimal(m.layers) + " layers",
                   "there must be a layer for each");
  if (!list.empty()) return given_stages(m, p, count);
  if (m.layers % count == 0) return std::nullopt;
  return problem(
      all() + " do not divide " + decimal(m.layers) + " layers evenly",
      "give " + flag_of(p, &list) + ", as even as can be: " + joined(even_stages(m.layers, count)));
}

Problem batch(const Transformer&, const Plan& p) {
  const Int pass = p.dp * p.batch.micro;
  if (p.batch.global % pass == 0) return std::nullopt;
  const Int below = p.batch.global / pass * pass;
  return problem(flag_with_value(p, &p.batch.global) + " is no multiple of " +
                     product_of(p, {&p.dp, &p.batch.micro}) + " = " + decimal(p.dp) + " * " +
                     decimal(p.batch.micro) + " = " + decimal(pass),
                 "give " + (below > 0 ? decimal(below) + " or " : "") + decimal(below + pass));
}

Problem schedule(const Transformer&, const Plan& p) {
  const PipelineDivision& d = p.pipeline;
  if (d.schedule == Schedule::dualpipe)
    if (Problem found = dualpipe(p)) return found;
  const auto given = [&] { return flag_with_value(p, &d.schedule); };
  const auto pp = [&] { return flag_with_value(p, &p.pp); };
  const auto stages = [&] { return flag_with_value(p, &d.virtual_stages); };
  if (d.schedule != Schedule::interleaved) {
    if (d.virtual_stages == 1) return std::nullopt;
    return problem(stages() + " with " + given(), "only interleaved has several stages a device");
  }
  if (p.pp < 2 || d.virtual_stages < 2)
    return problem(given() + " with " + pp() + " and " + stages(), "it needs 2 or more of both");
  if (micro_batches(p) % p.pp == 0) return std::nullopt;
  return problem(given() + " with " + decimal(micro_batches(p)) + " micro-batches on " + pp(),
                 "their number must be a multiple of " + flag_of(p, &p.pp) + ": " +
                     flag_of(p, &p.batch.global) + " a multiple of " +
                     decimal(p.dp * p.batch.micro * p.pp));
}

Problem secondary_sharding(const Transformer&, const Plan& p) {
  if (p.secondary_group == 0) return std::nullopt;
  const std::string given = flag_with_value(p, &p.secondary_group);
  if (p.zero != 3)
    return problem(given + " with " + flag_with_value(p, &p.zero) + ", which gathers no parameters",
                   "take " + flag_of(p, &p.zero) + " 3");
  if (gathers_singly(p))
    return problem(given + " with " + flag_with_value(p, &p.overlap.gather_singly),
                   "that version of DeepSpeed has no second copy");
  const std::int64_t all = p.shard_group > 0 ? p.shard_group : p.dp * p.cp;
  if (all % p.secondary_group == 0) return std::nullopt;
  return problem(given + " does not divide the " + decimal(all) + " devices that split states",
                 "it may be " + divisors(all));
}

Problem sharding(const Transformer&, const Plan& p) {
  if (p.shard_group == 0) return std::nullopt;
  const std::string given = flag_with_value(p, &p.shard_group);
  if (p.zero == 0)
    return problem(given + " with " + flag_with_value(p, &p.zero) + ", which shards nothing",
                   "take " + flag_of(p, &p.zero) + " 1, 2 or 3");
  if (p.dp * p.cp % p.shard_group == 0) return std::nullopt;
  return problem(
      given + " does not divide " + product_of(p, {&p.dp, &p.cp}) + " = " + decimal(p.dp * p.cp),
      "it may be " + divisors(p.dp * p.cp));
}

}  // namespace stepscope::plan_rules

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search_bounds.h"

#include <algorithm>
#include <limits>

namespace stepscope {
namespace {

constexpr auto every_k = static_cast<std::size_t>(Recompute::every_k);
constexpr auto none = static_cast<std::size_t>(Recompute::none);
constexpr auto full = static_cast<std::size_t>(Recompute::full);

// Sums in another order than evaluate()'s differ in the last digits.
constexpr double rounding = 1 - 1e-9;

double pass(const LayerCost& cost, std::size_t how) {
  return cost.forward.total() + cost.backward[how].total() + cost.again[how].total();
}

std::int64_t layers_of(const CostContext& context, const Plan& plan, std::int64_t stage) {
  if (!plan.stage_layers.empty()) return plan.stage_layers[static_cast<std::size_t>(stage)];
  return context.model->layers / (plan.pp * plan.virtual_stages);
}

std::int64_t device_layers(const CostContext& context, const Plan& plan, std::int64_t device) {
  std::int64_t layers = 0;
  for (std::int64_t v = 0; v < plan.virtual_stages; ++v) {
    layers += layers_of(context, plan, v * plan.pp + device);
  }
  return layers;
}

}  // namespace

LayerBounds layer_bounds(const CostContext& context) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  LayerBounds b;
  b.least.fill(infinite);
  b.kept_bytes.fill(infinite);
  b.parameters = b.expert_parameters = infinite;
  std::vector<double> layers(context.kinds.size(), 0);
  for (const std::uint8_t kind : context.kind) ++layers[kind];
  for (std::size_t k = 0; k < context.kinds.size(); ++k) {
    const LayerCost& kind = context.kinds[k];
    for (std::size_t how = 0; how <= every_k; ++how) {
      const double time =
          how == every_k ? std::min(pass(kind, none), pass(kind, full)) : pass(kind, how);
      const double kept = how == every_k ? std::min(kind.kept_bytes[none], kind.kept_bytes[full])
                                         : kind.kept_bytes[how];
      b.least[how] = std::min(b.least[how], time);
      b.all[how] += layers[k] * time;
      b.kept_bytes[how] = std::min(b.kept_bytes[how], kept);
    }
    b.parameters = std::min(b.parameters, kind.parameters);
    b.expert_parameters = std::min(b.expert_parameters, kind.expert_parameters);
  }
  b.embedding = pass(context.embedding, none);
  for (std::size_t apart = 0; apart < 2; ++apart) b.head[apart] = pass(context.head[apart], none);
  return b;
}

double least_step(const LayerBounds& b, const CostContext& context, const Plan& plan) {
  const auto how = static_cast<std::size_t>(plan.recompute);
  const auto p = static_cast<double>(plan.pp);
  const auto m = static_cast<double>(micro_batches(plan));
  const double head = b.head[plan.pp > 1 ? 1 : 0];
  const double all = b.all[how] + b.embedding + head;
  const std::int64_t end = plan.pp - 1;
  double last = static_cast<double>(device_layers(context, plan, end)) * b.least[how] + head;
  if (plan.pp == 1) last = all;
  double step = m * std::max(all / p, last);
  if (plan.schedule == Schedule::gpipe || plan.schedule == Schedule::one_f_one_b) {
    step = std::max(step, all + (m - 1) * last);
  }
  if (plan.schedule == Schedule::interleaved && plan.pp > 1) {
    double before = b.embedding;
    for (std::int64_t r = 0; r < end; ++r) {
      before += static_cast<double>(layers_of(context, plan, r)) * b.least[how];
    }
    step = std::max(step, m * last + before);
  }
  return step * rounding;
}

StageLoad least_load(const LayerBounds& b, const CostContext& context, const Plan& plan) {
  const auto how = static_cast<std::size_t>(plan.recompute);
  const auto layers = static_cast<double>(device_layers(context, plan, 0));
  StageLoad load;
  load.parameters = layers * b.parameters + context.embedding.parameters;
  load.expert_parameters = layers * b.expert_parameters + context.embedding.expert_parameters;
  load.activation_bytes = layers * b.kept_bytes[how];
  if (plan.recompute == Recompute::every_k) {
    const double more = context.kinds.size() > 1
                            ? 0
                            : context.kinds[0].kept_bytes[none] - context.kinds[0].kept_bytes[full];
    load.activation_bytes +=
        layers / static_cast<double>(plan.recompute_every) * std::max(0.0, more);
  }
  load.activation_bytes += std::max(0.0, context.embedding.kept_bytes[none]);
  if (plan.pp == 1) {
    const LayerCost& head = context.head[0];
    load.parameters += head.parameters;
    load.expert_parameters += head.expert_parameters;
    load.activation_bytes += std::max(0.0, head.kept_bytes[none] - head.logits_kept);
    load.logits_bytes = head.logits_bytes;
  }
  if (layers > 0) {
    load.unit_parameters = b.parameters;
    load.unit_expert_parameters = b.expert_parameters;
  }
  load.in_flight =
      micro_batches_in_flight(plan.schedule, plan.pp, 0, plan.virtual_stages, micro_batches(plan));
  return load;
}

double least_memory(const StageLoad& load, const Plan& plan) {
  return memory_of(plan, load).total() * rounding;
}

}  // namespace stepscope

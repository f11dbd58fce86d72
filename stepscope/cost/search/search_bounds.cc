// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_bounds.h"

#include <algorithm>
#include <limits>
#include <span>

namespace stepscope {
namespace {

constexpr auto every_k = static_cast<std::size_t>(Recompute::every_k);
constexpr auto none = static_cast<std::size_t>(Recompute::none);
constexpr auto full = static_cast<std::size_t>(Recompute::full);

// Sums in another order than in evaluate() differ in the last digits.
constexpr double rounding = 1 - 1e-9;

double pass(const LayerCost& cost, std::size_t how) {
  return cost.forward.total() + cost.backward[how].total() + cost.again[how].total();
}

std::int64_t layers_of(const LayerBounds& b, const Plan& plan, std::int64_t stage) {
  if (!plan.pipeline.stage_layers.empty())
    return plan.pipeline.stage_layers[static_cast<std::size_t>(stage)];
  const auto layers = static_cast<std::int64_t>(b.before.size()) - 1;
  return layers / (plan.pp * plan.pipeline.virtual_stages);
}

// Calls body(stage, first layer, end) for each virtual stage.
template <class Body>
void each_stage(const LayerBounds& b, const Plan& plan, Body body) {
  std::int64_t begin = 0;
  for (std::int64_t stage = 0; stage < plan.pp * plan.pipeline.virtual_stages; ++stage) {
    const std::int64_t end = begin + layers_of(b, plan, stage);
    body(stage, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    begin = end;
  }
}

LayerSums plus(const LayerSums& sums, const LayerCost& layer) {
  LayerSums next = sums;
  for (std::size_t how = 0; how <= full; ++how) {
    next.seconds[how] += pass(layer, how);
    next.kept_bytes[how] += layer.kept_bytes[how];
  }
  next.seconds[every_k] += std::min(pass(layer, none), pass(layer, full));
  next.kept_bytes[every_k] += std::min(layer.kept_bytes[none], layer.kept_bytes[full]);
  next.parameters += layer.parameters;
  next.expert_parameters += layer.expert_parameters;
  next.trained += layer.trained;
  next.trained_experts += layer.trained_experts;
  return next;
}

void add_end(StageLoad& load, const LayerCost& end) {
  load.parameters += end.parameters;
  load.expert_parameters += end.expert_parameters;
  load.trained += end.trained;
  load.trained_experts += end.trained_experts;
  load.activation_bytes += std::max(0.0, end.kept_bytes[none] - end.logits_kept);
  load.logits_bytes += end.logits_bytes;
}

void add_layers(StageLoad& load, const LayerBounds& b, const Plan& plan, std::size_t begin,
                std::size_t end) {
  const LayerSums& from = b.before[begin];
  const LayerSums& to = b.before[end];
  const auto how = static_cast<std::size_t>(plan.memory.recompute);
  load.parameters += to.parameters - from.parameters;
  load.expert_parameters += to.expert_parameters - from.expert_parameters;
  load.trained += to.trained - from.trained;
  load.trained_experts += to.trained_experts - from.trained_experts;
  load.activation_bytes += to.kept_bytes[how] - from.kept_bytes[how];
  if (plan.memory.recompute != Recompute::every_k) return;
  load.activation_bytes += static_cast<double>(end - begin) /
                           static_cast<double>(plan.memory.recompute_every) * b.whole_bytes;
}

}  // namespace

LayerBounds layer_bounds(const CostContext& context) {
  LayerBounds b;
  b.before.reserve(context.kind.size() + 1);
  b.before.emplace_back();
  for (const std::uint8_t kind : context.kind) {
    b.before.push_back(plus(b.before.back(), context.kinds[kind]));
  }
  b.whole_bytes = std::numeric_limits<double>::infinity();
  for (const LayerCost& kind : context.kinds) {
    const double more = std::max(0.0, kind.kept_bytes[none] - kind.kept_bytes[full]);
    b.whole_bytes = std::min(b.whole_bytes, more);
  }
  b.embedding = pass(context.embedding, none);
  for (std::size_t own_stage = 0; own_stage < 2; ++own_stage)
    b.head[own_stage] = pass(context.head[own_stage], none);
  return b;
}

double least_step(const LayerBounds& b, const Plan& plan) {
  const auto how = static_cast<std::size_t>(plan.memory.recompute);
  const auto m = static_cast<double>(micro_batches(plan));
  const std::int64_t stages = plan.pp * plan.pipeline.virtual_stages;
  const bool turns =
      plan.pipeline.schedule == Schedule::gpipe || plan.pipeline.schedule == Schedule::one_f_one_b;
  std::array<double, 64> few{};
  std::vector<double> many;
  if (plan.pp > static_cast<std::int64_t>(few.size()))
    many.resize(static_cast<std::size_t>(plan.pp));
  const std::span<double> own = many.empty() ? std::span<double>(few) : std::span<double>(many);
  double before = 0;  // of the stages up to this one
  double first_chunk = 0;
  double step = 0;
  each_stage(b, plan, [&](std::int64_t s, std::size_t begin, std::size_t end) {
    double u = b.before[end].seconds[how] - b.before[begin].seconds[how];
    if (s == 0) u += b.embedding;
    if (s + 1 == stages) u += b.head[plan.pp > 1 ? 1 : 0];
    own[static_cast<std::size_t>(s % plan.pp)] += u;
    before += u;
    if (s + 1 < plan.pp) first_chunk += u;
    if (turns && micro_batches(plan) >= plan.pp - s) step = std::max(step, before + (m - 1) * u);
  });
  // The busiest pair of mirrored stages takes at least the mean.
  if (plan.pipeline.schedule == Schedule::dualpipe)
    return m * before / static_cast<double>(plan.pp) * rounding;
  for (const double u : own.first(static_cast<std::size_t>(plan.pp))) step = std::max(step, m * u);
  if (plan.pipeline.schedule == Schedule::interleaved && plan.pipeline.virtual_stages > 1) {
    step = std::max(step, m * own[static_cast<std::size_t>(plan.pp - 1)] + first_chunk);
  }
  return step * rounding;
}

double least_busy(const LayerBounds& b, const Plan& plan) {
  const double all = b.before.back().seconds[static_cast<std::size_t>(plan.memory.recompute)] +
                     b.embedding + b.head[plan.pp > 1 ? 1 : 0];
  return static_cast<double>(micro_batches(plan)) * all / static_cast<double>(plan.pp) * rounding;
}

LeastLoads least_loads(const LayerBounds& b, const CostContext& context, const Plan& plan) {
  LeastLoads loads;
  const std::int64_t devices = std::min<std::int64_t>(plan.pp, 2);
  const std::int64_t last = plan.pp * plan.pipeline.virtual_stages - 1;
  for (std::int64_t d = 0; d < devices; ++d) {
    loads[static_cast<std::size_t>(d)].emplace().in_flight = micro_batches_in_flight(
        plan.pipeline.schedule, plan.pp, d, plan.pipeline.virtual_stages, micro_batches(plan));
  }
  each_stage(b, plan, [&](std::int64_t s, std::size_t begin, std::size_t end) {
    if (s % plan.pp >= devices) return;
    StageLoad& load = *loads[static_cast<std::size_t>(s % plan.pp)];
    add_layers(load, b, plan, begin, end);
    if (s == 0) add_end(load, context.embedding);
    if (s == last) add_end(load, context.head[plan.pp > 1 ? 1 : 0]);
  });
  return loads;
}

double least_memory(const LeastLoads& loads, const Plan& plan) {
  double most = 0;
  for (const auto& load : loads) {
    if (load) most = std::max(most, memory_of(plan, *load).total());
  }
  return most * rounding;
}

double state_bytes(const Precision& p) {
  return p.parameter_bytes + p.accumulated_gradient_bytes + p.master_bytes +
         p.optimizer_state_bytes;
}

double least_memory_of_any(const LeastLoads& loads, const Plan& plan, bool away) {
  const double of_parameter = away ? 0 : plan.precision.parameter_bytes;
  const double of_trained = away ? 0 : state_bytes(plan.precision) - of_parameter;
  const auto replicas = static_cast<double>(plan.dp * plan.cp);
  double most = 0;
  for (const auto& load : loads) {
    if (!load) continue;
    const double owned = load->parameters / replicas +
                         load->expert_parameters / static_cast<double>(expert_replicas(plan));
    const double trained = load->trained / replicas +
                           load->trained_experts / static_cast<double>(expert_replicas(plan));
    most = std::max(most, load->activation_bytes * load->in_flight + load->logits_bytes +
                              owned * of_parameter + trained * of_trained);
  }
  return most * rounding;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_space.h"

#include <algorithm>
#include <map>
#include <optional>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

using Int = std::int64_t;

constexpr Int most_micro_batch = 32;  // if the request does not say
constexpr std::array<Int, 6> every_choices = {2, 3, 4, 6, 8, 12};

std::vector<Int> divisors(const SearchRequest& request, SearchKey key, Int n) {
  std::vector<Int> low;
  std::vector<Int> high;
  for (Int d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    if (allows(request, key, d)) low.push_back(d);
    if (d * d != n && allows(request, key, n / d)) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

template <class Enum>
bool allows_enum(const SearchRequest& request, SearchKey key, Enum value) {
  return allows(request, key, static_cast<Int>(value));
}

std::optional<Int> root(Int n, int power) {
  for (Int side = 1;; ++side) {
    Int filled = side * side;
    if (power == 3) filled *= side;
    if (filled == n) return side;
    if (filled > n) return std::nullopt;
  }
}

bool asks(const SearchRequest& request, SearchKey key) {
  const auto at = static_cast<std::size_t>(key);
  return request.fixed[at] || request.most[at];
}

// All grids of the layout whose sides multiply to tp. A depth of one is 2d.
void add_grids(TensorLayout layout, Int tp, std::vector<TensorDivision>& list) {
  const bool deep = layout != TensorLayout::two_d;
  for (Int depth = deep ? 2 : 1; depth <= (deep ? tp : 1); ++depth) {
    if (tp % depth != 0) continue;
    const Int plane = tp / depth;
    for (Int rows = 1; rows <= plane; ++rows) {
      if (plane % rows != 0) continue;
      list.push_back({.layout = layout, .rows = rows, .columns = plane / rows, .depth = depth});
    }
  }
}

// One device is 1d. A grid of one copy is 2d, not 2.5d. Grids with given sides are searched only on
// request: most are slower than the square ones and would grow every search.
std::vector<TensorDivision> tensor_choices(const SearchRequest& request, Int tp) {
  std::vector<TensorDivision> all{{}};
  if (tp > 1 || request.base.tensor.sequence_degree > 1) all.push_back({.sequence_parallel = true});
  if (tp > 1 && (asks(request, SearchKey::tp_rows) || asks(request, SearchKey::tp_columns))) {
    for (const auto layout :
         {TensorLayout::two_d, TensorLayout::two_and_half_d, TensorLayout::three_d}) {
      add_grids(layout, tp, all);
    }
  } else if (tp > 1) {
    if (root(tp, 2)) all.push_back({.layout = TensorLayout::two_d});
    for (Int depth = 2; depth * depth * depth <= tp; ++depth) {
      const auto side = tp % depth == 0 ? root(tp / depth, 2) : std::nullopt;
      if (side && depth <= *side) {
        all.push_back({.layout = TensorLayout::two_and_half_d, .depth = depth});
      }
    }
    if (root(tp, 3)) all.push_back({.layout = TensorLayout::three_d});
  }
  std::erase_if(all, [&](const TensorDivision& t) {
    return !allows_enum(request, SearchKey::tensor_layout, t.layout) ||
           !allows(request, SearchKey::tp_rows, t.rows) ||
           !allows(request, SearchKey::tp_columns, t.columns) ||
           !allows(request, SearchKey::tp_depth, t.depth) ||
           !allows(request, SearchKey::sequence_parallel, t.sequence_parallel ? 1 : 0);
  });
  return all;
}

std::vector<ContextExchange> exchange_choices(const SearchRequest& request, Int cp) {
  std::vector<ContextExchange> list;
  for (const auto e :
       {ContextExchange::all_gather, ContextExchange::ring, ContextExchange::all_to_all}) {
    if (cp == 1 && e != ContextExchange::all_gather) continue;
    if (cp == 1 || allows_enum(request, SearchKey::context_exchange, e)) list.push_back(e);
  }
  return list;
}

std::vector<Int> micro_batch_choices(const SearchRequest& request) {
  std::vector<Int> list = divisors(request, SearchKey::micro_batch, request.base.batch.global);
  const auto key = static_cast<std::size_t>(SearchKey::micro_batch);
  if (request.fixed[key] || request.most[key]) return list;
  std::erase_if(list, [](Int n) { return n > most_micro_batch; });
  return list;
}

// Checks only the shape, on as few devices as it needs, one dimension after the other.
std::optional<Rejected> shape_obstacle(const Transformer& model, const Plan& shape) {
  Plan probe = shape;
  const auto fails = [&] {
    probe.devices = tensor_ranks(probe) * probe.cp * probe.ep;
    probe.dp = probe.ep;
    probe.batch.global = probe.ep * probe.batch.micro;
    return !check_plan(model, probe);
  };
  probe.cp = probe.ep = 1;
  probe.context_exchange = ContextExchange::all_gather;
  if (fails()) return Rejected::tensor;
  probe.cp = shape.cp;
  probe.context_exchange = shape.context_exchange;
  if (fails()) return Rejected::context;
  probe.ep = shape.ep;
  if (fails()) return Rejected::expert;
  return std::nullopt;
}

struct Residences {
  Residence optimizer = Residence::device;
  Residence gradients = Residence::device;
  Residence parameters = Residence::device;
};

std::vector<Residences> residence_choices(const SearchSpace& space) {
  constexpr std::array places = {Residence::device, Residence::host, Residence::nvme};
  std::vector<Residences> list;
  for (const auto optimizer : places) {
    for (const auto gradients : places) {
      for (const auto parameters : places) {
        const Residences r{optimizer, gradients, parameters};
        const bool away = optimizer != Residence::device || gradients != Residence::device ||
                          parameters != Residence::device;
        const auto& request = *space.request;
        const bool asked = request.fixed[static_cast<std::size_t>(SearchKey::optimizer_at)] ||
                           request.fixed[static_cast<std::size_t>(SearchKey::gradients_at)] ||
                           request.fixed[static_cast<std::size_t>(SearchKey::parameters_at)];
        if (away && !space.offload && !asked) continue;
        if (!space.offload) {  // fields that are not fixed stay
          const auto stays = [&](SearchKey key, Residence at) {
            return request.fixed[static_cast<std::size_t>(key)] || at == Residence::device;
          };
          if (!stays(SearchKey::optimizer_at, optimizer)) continue;
          if (!stays(SearchKey::gradients_at, gradients)) continue;
          if (!stays(SearchKey::parameters_at, parameters)) continue;
        }
        if (!allows_enum(request, SearchKey::optimizer_at, optimizer)) continue;
        if (!allows_enum(request, SearchKey::gradients_at, gradients)) continue;
        if (!allows_enum(request, SearchKey::parameters_at, parameters)) continue;
        list.push_back(r);
      }
    }
  }
  return list;
}

// A shard group needs more than one rank and fewer than all.
std::vector<Int> shard_groups(const SearchRequest& request, const Plan& shape, Int replicas) {
  std::vector<Int> list;
  if (allows(request, SearchKey::shard_group, 0)) list.push_back(0);
  for (const Int group : divisors(request, SearchKey::shard_group, replicas)) {
    const bool whole_experts = group % shape.ep == 0 || shape.ep % group == 0;
    if (group > 1 && group < replicas && whole_experts) list.push_back(group);
  }
  return list;
}

// FLOPs of the head, and of the modules that predict further tokens, in layers.
double head_in_layers(const Transformer& model, Int sequence) {
  const auto flops = [&](const Transformer& m) {
    return sequence_flops(m, sequence, FlopsConvention::causal_halved);
  };
  Transformer layers = model;
  layers.head = false;
  layers.prediction.reset();
  const double without = flops(layers);
  return without > 0 ? (flops(model) / without - 1) * static_cast<double>(model.layers) : 0;
}

// Layers of the last of `stages`, so that it has the mean work with the head; 0 if even stages are
// as good.
Int last_layers(Int layers, double head, Int stages) {
  const double mean = (static_cast<double>(layers) + head) / static_cast<double>(stages);
  const Int last = std::max<Int>(1, std::llround(mean - head));
  return stages > 1 && last < layers / stages ? last : 0;
}

// Calls each(plan, plans below) for the splits of a shape, without their stages.
template <class Each>
void each_count(const SearchSpace& space, const Plan& shape, Each each) {
  Plan plan = shape;
  Int dp = 0;
  Int states = 0;
  for (const Split& split : list_splits(space, shape)) {
    plan.pp = split.pp;
    plan.dp = split.dp;
    plan.pipeline.schedule = split.schedule;
    plan.pipeline.virtual_stages = split.virtual_stages;
    if (split.dp != dp) {
      const bool several = space.request->base.batch.global / (split.dp * shape.batch.micro) > 1;
      states = static_cast<Int>(list_states(space, shape, split.dp * shape.cp, several).size());
      dp = split.dp;
    }
    each(plan, states * static_cast<Int>(list_recomputations(space, split).size()));
  }
}

}  // namespace

bool allows(const SearchRequest& request, SearchKey key, Int value) {
  const auto& fixed = request.fixed[static_cast<std::size_t>(key)];
  const auto& most = request.most[static_cast<std::size_t>(key)];
  return (!fixed || *fixed == value) && (!most || value <= *most);
}

bool states_may_leave(const SearchRequest& request, bool offload) {
  constexpr std::array places = {SearchKey::optimizer_at, SearchKey::gradients_at,
                                 SearchKey::parameters_at};
  return offload || std::ranges::any_of(places, [&](SearchKey key) {
           return request.fixed[static_cast<std::size_t>(key)].has_value();
         });
}

ShapeList list_shapes(const SearchSpace& space) {
  const SearchRequest& request = *space.request;
  const Int experts = space.model->experts ? space.model->experts->count : 1;
  const auto micro_batches = micro_batch_choices(request);
  ShapeList list;
  Plan p = request.base;
  p.devices = space.devices;
  p.pipeline.stage_layers.clear();
  Int index = 0;
  std::map<std::array<Int, 4>, Int> counts;  // by everything in a shape that count_plans uses
  const auto add = [&] {
    ++index;
    const auto why = shape_obstacle(*space.model, p);
    if (!why) {
      list.shapes.push_back({.plan = p, .index = index});
    } else {
      const auto [plans, is_new] =
          counts.try_emplace({tensor_ranks(p) * p.cp, p.cp, p.ep, p.batch.micro});
      if (is_new) plans->second = count_plans(space, p);
      list.rejected[static_cast<std::size_t>(*why)] += plans->second;
    }
  };
  for (const Int tp : divisors(request, SearchKey::tp, space.devices)) {
    p.tp = tp;
    for (const TensorDivision& t : tensor_choices(request, tp)) {
      p.tensor = t;
      p.tensor.sequence_degree = t.sequence_parallel ? request.base.tensor.sequence_degree : 0;
      const Int ranks = tensor_ranks(p);
      if (space.devices % ranks != 0) continue;
      for (const Int cp : divisors(request, SearchKey::cp, space.devices / ranks)) {
        p.cp = cp;
        for (const ContextExchange exchange : exchange_choices(request, cp)) {
          p.context_exchange = exchange;
          for (const Int ep : divisors(request, SearchKey::ep, experts)) {
            if (space.devices / (whole_experts(p) ? 1 : ranks) % ep != 0) continue;
            p.ep = ep;
            for (const Int micro_batch : micro_batches) {
              p.batch.micro = micro_batch;
              add();
            }
          }
        }
      }
    }
  }
  return list;
}

std::vector<Split> list_splits(const SearchSpace& space, const Plan& shape) {
  const SearchRequest& request = *space.request;
  const Int layers = space.model->layers;
  const Int left = space.devices / (tensor_ranks(shape) * shape.cp);
  const double head = head_in_layers(*space.model, request.base.batch.sequence);
  std::vector<Split> list;
  for (const Int pp : divisors(request, SearchKey::pp, left)) {
    const Int dp = left / pp;
    if (pp > layers || !allows(request, SearchKey::dp, dp)) continue;
    const auto add = [&](Schedule schedule, Int v) {
      if (!allows_enum(request, SearchKey::schedule, schedule)) return;
      if (!allows(request, SearchKey::virtual_stages, v)) return;
      list.push_back({pp, dp, schedule, v});
      const Int last = v == 1 ? last_layers(layers, head, pp) : 0;
      if (last > 0) list.push_back({pp, dp, schedule, v, last});
    };
    add(Schedule::one_f_one_b, 1);
    // Without a pipeline there is no schedule to choose.
    const bool given = request.fixed[static_cast<std::size_t>(SearchKey::schedule)].has_value();
    if (pp == 1 && !given) continue;
    for (const auto s : {Schedule::gpipe, Schedule::zero_bubble_h1, Schedule::zero_bubble_h2}) {
      add(s, 1);
    }
    // It pays where it hides the all-to-alls of experts.
    if (pp % 2 == 0 && pp > 2 && (space.model->experts || given)) add(Schedule::dualpipe, 1);
    for (Int v = 2; pp > 1 && pp * v <= layers; ++v) {
      if (layers % (pp * v) == 0 || layers % pp != 0) add(Schedule::interleaved, v);
    }
  }
  return list;
}

std::vector<Recomputation> list_recomputations(const SearchSpace& space, const Split& split) {
  const SearchRequest& request = *space.request;
  const Int stages = split.pp * split.virtual_stages;
  const Int alike = split.last_layers > 0 ? stages - 1 : stages;
  const Int largest = (space.model->layers - split.last_layers + alike - 1) / alike;
  std::vector<Recomputation> list;
  // Recomputation by operations only on request: it lies between the others and would grow every
  // search.
  const bool asked = request.fixed[static_cast<std::size_t>(SearchKey::recompute)].has_value();
  for (const auto how :
       {Recompute::none, Recompute::selective, Recompute::operations, Recompute::full}) {
    if (how == Recompute::operations && !asked) continue;
    if (allows_enum(request, SearchKey::recompute, how)) list.push_back({.how = how, .every = 1});
  }
  if (!allows_enum(request, SearchKey::recompute, Recompute::every_k)) return list;
  const auto& fixed = request.fixed[static_cast<std::size_t>(SearchKey::recompute_every)];
  if (fixed) {
    if (*fixed <= space.model->layers) list.push_back({Recompute::every_k, *fixed});
    return list;
  }
  for (const Int k : every_choices) {
    if (k <= largest && allows(request, SearchKey::recompute_every, k)) {
      list.push_back({Recompute::every_k, k});
    }
  }
  return list;
}

std::vector<StateChoice> list_states(const SearchSpace& space, const Plan& shape, Int replicas,
                                     bool several_passes) {
  const SearchRequest& request = *space.request;
  const auto places = residence_choices(space);
  const auto groups = shard_groups(request, shape, replicas);
  const bool zero_given = request.fixed[static_cast<std::size_t>(SearchKey::zero)].has_value();
  std::vector<StateChoice> list;
  const auto add = [&](int zero, Int group, bool each) {
    if (!allows(request, SearchKey::reduce_each_micro_batch, each ? 1 : 0)) return;
    for (const Residences& r : places) {
      list.push_back({zero, group, each, r.optimizer, r.gradients, r.parameters});
    }
  };
  for (int zero = 0; zero <= 3; ++zero) {
    if (!allows(request, SearchKey::zero, zero)) continue;
    if (replicas == 1 && zero > 0 && !zero_given) continue;
    for (const Int group : zero == 0 ? std::vector<Int>{0} : groups) {
      if (zero == 0 && !allows(request, SearchKey::shard_group, 0)) continue;
      add(zero, group, false);
      if (zero < 2 && several_passes) add(zero, group, true);
    }
  }
  return list;
}

void take(Plan& plan, const Transformer& model, const Split& split) {
  plan.pp = split.pp;
  plan.dp = split.dp;
  plan.pipeline.schedule = split.schedule;
  plan.pipeline.virtual_stages = split.virtual_stages;
  const Int stages = split.pp * split.virtual_stages;
  plan.pipeline.stage_layers.clear();
  if (split.last_layers > 0) {
    plan.pipeline.stage_layers = even_stages(model.layers - split.last_layers, stages - 1);
    plan.pipeline.stage_layers.push_back(split.last_layers);
  } else if (model.layers % stages != 0) {
    plan.pipeline.stage_layers = even_stages(model.layers, stages);
  }
}

void take(Plan& plan, const Recomputation& recomputation) {
  plan.memory.recompute = recomputation.how;
  plan.memory.recompute_every = recomputation.every;
}

void take(Plan& plan, const StateChoice& states) {
  plan.zero = states.zero;
  plan.shard_group = states.shard_group;
  plan.batch.reduce_each_micro = states.reduce_each_micro_batch;
  plan.memory.optimizer_at = states.optimizer_at;
  plan.memory.gradients_at = states.gradients_at;
  plan.memory.parameters_at = states.parameters_at;
}

std::optional<Rejected> obstacle(const Transformer&, const Plan& plan) {
  if (plan.batch.global % (plan.dp * plan.batch.micro) != 0) return Rejected::batch;
  if (expert_ranks(plan) % plan.ep != 0) return Rejected::expert;
  if (plan.pipeline.schedule == Schedule::interleaved && micro_batches(plan) % plan.pp != 0) {
    return Rejected::schedule;
  }
  const Int m = micro_batches(plan);
  if (plan.pipeline.schedule == Schedule::dualpipe && (m % 2 != 0 || m < 2 * plan.pp)) {
    return Rejected::schedule;
  }
  return std::nullopt;
}

Int count_plans(const SearchSpace& space, const Plan& shape) {
  Int count = 0;
  each_count(space, shape, [&count](const Plan&, Int plans) { count += plans; });
  return count;
}

void count_plans(const SearchSpace& space, const Plan& shape, Rejected otherwise,
                 std::array<Int, rejected_count>& rejected) {
  each_count(space, shape, [&](const Plan& plan, Int plans) {
    const Rejected why = obstacle(*space.model, plan).value_or(otherwise);
    rejected[static_cast<std::size_t>(why)] += plans;
  });
}

}  // namespace stepscope

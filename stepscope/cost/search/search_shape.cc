// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_shape.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "stepscope/cost/search/search_bounds.h"
#include "stepscope/cost/step/step_cost.h"

namespace stepscope {
namespace {

bool faster_here(const Candidate& a, const Candidate& b) {
  return std::tie(a.step, a.memory, a.place) < std::tie(b.step, b.memory, b.place);
}

class ShapeSearcher {
 public:
  ShapeSearcher(const ShapeSearch& search, const SearchShape& shape, const FoundPlans& before,
                ShapeResult& result, CostContext context)
      : search_(search),
        shape_(shape),
        before_(before),
        result_(result),
        context_(std::move(context)),
        bounds_(layer_bounds(context_)),
        plan_(shape.plan),
        away_(states_may_leave(*search.space.request, search.space.offload)) {}

  void run() {
    for (const Split& split : list_splits(search_.space, shape_.plan)) {
      if (stopped()) return;
      take(plan_, *search_.space.model, split);
      family_ = family_of(plan_);
      const bool several = plan_.batch.global / (plan_.dp * plan_.batch.micro) > 1;
      states_ = &states_of(split.dp * plan_.cp, several);
      const auto recomputations = list_recomputations(search_.space, split);
      const auto count = recomputations.size() * states_->size();
      if (const auto why = obstacle(*search_.space.model, plan_)) {
        reject(*why, count);
        continue;
      }
      for (const Recomputation& r : recomputations) search_with(r);
    }
  }

 private:
  void search_with(const Recomputation& recomputation) {
    take(plan_, recomputation);
    const bool prune = search_.space.request->prune;
    if (prune && least_busy(bounds_, plan_) > latest())
      return reject(Rejected::slow, states_->size());
    const double step = prune ? least_step(bounds_, plan_) : 0;
    if (prune && step > latest()) return reject(Rejected::slow, states_->size());
    LeastLoads loads;
    if (prune) {
      loads = least_loads(bounds_, context_, plan_);
      const double memory = least_memory_of_any(loads, plan_, away_);
      if (memory > search_.limits.extended) return reject(Rejected::memory, states_->size());
      if (!wanted(step, memory)) return reject(Rejected::slow, states_->size());
    }
    for (const StateChoice& state : *states_) {
      take(plan_, state);
      if (prune) {
        const double memory = least_memory(loads, plan_);
        if (memory > search_.limits.extended) {
          reject(Rejected::memory, 1);
          continue;
        }
        if (!wanted(step, memory)) {
          reject(Rejected::slow, 1);
          continue;
        }
      }
      try_plan();
    }
  }

  void try_plan() {
    const Result<StepCost> cost = evaluate(context_, plan_);
    if (!cost) {
      if (!result_.error) result_.error = cost.error();
      return reject(Rejected::links, 1);
    }
    ++result_.evaluated;
    ++place_;
    const double step = cost->step().count();
    const double memory = cost->memory.total();
    const Shortage lacks = shortage(cost->memory, *search_.machine);
    if (lacks.host > 0 || lacks.nvme > 0) return reject(Rejected::memory, 1);
    if (memory > search_.limits.capacity) {
      reject(Rejected::memory, 1);
    } else {
      ++result_.feasible;
    }
    if (!wanted(step, memory)) return;
    if (search_.count_below) {
      ++result_.faster;
      return;
    }
    result_.found.add(
        family_, {.step = step, .memory = memory, .place = {shape_.index, place_}, .plan = plan_});
  }

  [[nodiscard]] double latest() const {
    return search_.count_below ? *search_.count_below : before_.latest();
  }

  [[nodiscard]] bool wanted(double step, double memory) const {
    if (search_.count_below)
      return step < *search_.count_below && memory <= search_.limits.capacity;
    return before_.wants(family_, step, memory) && result_.found.wants(family_, step, memory);
  }

  // Equal for all splits with this number of ranks.
  const std::vector<StateChoice>& states_of(std::int64_t replicas, bool several) {
    const auto [at, is_new] = state_lists_.try_emplace({replicas, several});
    if (is_new) at->second = list_states(search_.space, shape_.plan, replicas, several);
    return at->second;
  }

  [[nodiscard]] bool stopped() const {
    const StopFlag* stop = search_.space.request->stop;
    return stop != nullptr && stop->requested();
  }

  void reject(Rejected why, std::size_t count) {
    result_.rejected[static_cast<std::size_t>(why)] += static_cast<std::int64_t>(count);
  }

  const ShapeSearch& search_;
  const SearchShape& shape_;
  const FoundPlans& before_;
  ShapeResult& result_;
  CostContext context_;
  LayerBounds bounds_;
  Plan plan_;
  Family family_{};
  const std::vector<StateChoice>* states_ = nullptr;
  bool away_;  // states may leave the device
  std::map<std::pair<std::int64_t, bool>, std::vector<StateChoice>> state_lists_;
  std::int64_t place_ = 0;
};

Result<CostContext> context_of(const ShapeSearch& search, const Plan& shape) {
  return make_cost_context(*search.space.model, *search.machine, *search.network, shape);
}

}  // namespace

Family family_of(const Plan& p) {
  const TensorDivision& t = p.tensor;
  return {p.devices, p.tp, static_cast<std::int64_t>(t.layout), t.rows, t.columns, t.depth,
          p.ep,      p.pp};
}

bool FoundPlans::beaten(double step, double memory) const {
  // Along the front memory falls as steps grow, so the last plan faster than `step` has the least
  // memory.
  const auto after = std::ranges::lower_bound(front_, step, {}, &Candidate::step);
  return after != front_.begin() && std::prev(after)->memory <= memory;
}

bool FoundPlans::wants(const Family& family, double step, double memory) const {
  if (memory > limits_.extended || step > latest()) return false;
  if (!beaten(step, memory)) return true;
  if (memory > limits_.capacity || step > slowest_top_) return false;
  const auto found = families_.find(family);
  return found == families_.end() || step <= found->second.step;
}

void FoundPlans::add_to_front(Candidate candidate) {
  const auto place = std::ranges::lower_bound(front_, candidate, faster_here);
  if (place != front_.begin() && std::prev(place)->memory <= candidate.memory) return;
  auto end = place;
  while (end != front_.end() && end->memory >= candidate.memory) ++end;
  if (place == end) {
    front_.insert(place, std::move(candidate));
    return;
  }
  *place = std::move(candidate);
  front_.erase(place + 1, end);
}

void FoundPlans::add(const Family& family, Candidate candidate) {
  if (candidate.memory > limits_.extended) return;
  if (candidate.memory <= limits_.capacity) {
    fastest_ = std::min(fastest_, candidate.step);
    const auto [at, is_new] = families_.try_emplace(family, candidate);
    if (!is_new && faster_here(candidate, at->second)) at->second = candidate;
  }
  add_to_front(std::move(candidate));
}

void FoundPlans::merge(const FoundPlans& other) {
  for (const auto& [family, candidate] : other.families_) add(family, candidate);
  for (const Candidate& candidate : other.front_) add(family_of(candidate.plan), candidate);
}

void FoundPlans::settle() {
  std::vector<double> steps;
  steps.reserve(families_.size());
  for (const auto& [family, candidate] : families_) steps.push_back(candidate.step);
  if (steps.size() < limits_.top || limits_.top == 0) return;
  const auto nth = steps.begin() + static_cast<std::ptrdiff_t>(limits_.top - 1);
  std::ranges::nth_element(steps, nth);
  slowest_top_ = *nth;
}

ShapeBound shape_bound(const ShapeSearch& search, const Plan& shape) {
  ShapeBound bound;
  const auto context = context_of(search, shape);
  if (!context) return bound;
  const LayerBounds layers = layer_bounds(*context);
  Plan plan = shape;
  for (const Split& split : list_splits(search.space, shape)) {
    take(plan, *search.space.model, split);
    if (obstacle(*search.space.model, plan)) continue;
    for (const Recomputation& r : list_recomputations(search.space, split)) {
      take(plan, r);
      if (least_busy(layers, plan) < bound.step) {
        bound.step = std::min(bound.step, least_step(layers, plan));
      }
    }
  }
  return bound;
}

void search_shape(const ShapeSearch& search, const SearchShape& shape, const FoundPlans& before,
                  ShapeResult& result) {
  const bool late = shape.least > before.latest() && std::isfinite(shape.least);
  if (late && search.space.request->prune && !search.count_below) {
    return count_plans(search.space, shape.plan, Rejected::slow, result.rejected);
  }
  auto context = context_of(search, shape.plan);
  if (context) {
    ShapeSearcher(search, shape, before, result, *std::move(context)).run();
    return;
  }
  result.error = context.error();
  result.rejected[static_cast<std::size_t>(Rejected::links)] +=
      count_plans(search.space, shape.plan);
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_sensitivity.h"

#include <algorithm>

namespace stepscope {
namespace {

using What = Sensitivity::What;

template <class Rate>
void scale(std::optional<Rate>& rate, double factor) {
  if (rate) rate->value *= factor;
}

void scale(Network& network, What what, double factor) {
  if (what == What::links_between) scale(network.out, factor);
  if (what != What::links_within) return;
  network.up.value *= factor;
  network.peer.value *= factor;
  for (ByteRate& rate : network.peers) rate.value *= factor;
}

void scale(Machine& machine, What what, double factor) {
  if (what == What::memory_rate) scale(machine.memory_rate, factor);
  if (what != What::peak) return;
  for (auto& rate : machine.peak_rates) scale(rate, factor);
  for (auto& rate : machine.matmul_max) scale(rate, factor);
}

Result<double> step_with(const SensitivityInput& input, const Plan& plan, What what,
                         double factor) {
  Machine machine = input.machine;
  Network network = input.network;
  scale(machine, what, factor);
  scale(network, what, factor);
  auto context = make_cost_context(input.model, machine, network, plan);
  if (!context) return context.error();
  const auto cost = evaluate(*context, plan);
  if (!cost) return cost.error();
  return cost->step().count();
}

// `front` is sorted by time.
Sensitivity with_memory(const SensitivityInput& input, const std::vector<Candidate>& front,
                        const FoundPlan& best, double factor) {
  Sensitivity s{.what = What::memory, .factor = factor};
  const auto fits = std::ranges::find_if(
      front, [&](const Candidate& c) { return c.memory <= input.capacity * factor; });
  if (fits == front.end()) return s;
  s.step = fits->step;
  if (fits->step != best.cost.step().count()) s.other = fits->plan;
  return s;
}

}  // namespace

std::optional<Error> add_sensitivity(const SensitivityInput& input,
                                     const std::vector<Candidate>& front, SearchResult& result) {
  const FoundPlan& best = result.best.front();
  for (const What what : {What::links_within, What::links_between, What::memory_rate, What::peak}) {
    for (const double factor : sensitivity_factors) {
      const auto step = step_with(input, best.plan, what, factor);
      if (!step) return step.error();
      result.sensitivity.push_back({.what = what, .factor = factor, .step = *step});
    }
  }
  for (const double factor : sensitivity_factors) {
    result.sensitivity.push_back(with_memory(input, front, best, factor));
  }
  return std::nullopt;
}

}  // namespace stepscope

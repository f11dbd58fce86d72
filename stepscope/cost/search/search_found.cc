// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/search/search_found.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stepscope {
namespace {

bool faster_here(const Candidate& a, const Candidate& b) {
  return std::tie(a.step, a.memory, a.place) < std::tie(b.step, b.memory, b.place);
}

}  // namespace

Family family_of(const Plan& p) {
  return {p.devices, p.tp, static_cast<std::int64_t>(p.tensor_layout), p.tp_depth, p.ep, p.pp};
}

bool FoundPlans::beaten(double step, double memory) const {
  // The front's memory falls as its steps grow: of those faster than `step` the last is
  // smallest.
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

}  // namespace stepscope

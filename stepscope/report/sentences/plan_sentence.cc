// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/plan_sentence.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// In a list, where commas part the terms.
Value in_list(StepTerm term) {
  return term == StepTerm::pointwise ? Value(msg::norms_and_activations()) : words_of(term);
}

// Those of one sign, as many as make nine tenths of their sum, three at most.
std::vector<TermGain> most_of(const std::vector<TermGain>& gains, double sign) {
  constexpr std::size_t most = 3;
  double all = 0;
  for (const TermGain& g : gains) all += std::max(0.0, sign * g.seconds);
  std::vector<TermGain> some;
  double sum = 0;
  for (const TermGain& g : gains) {
    if (sign * g.seconds <= 0) continue;
    if (some.size() == most || sum >= 0.9 * all) break;
    some.push_back(g);
    sum += sign * g.seconds;
  }
  return some;
}

// What there is to say of the memory that a plan of one's own takes.
Message fitting(const PlanResult& r, const Memory& memory) {
  if (Message lacks = words_of(shortage(memory, r.machine)); !lacks.empty())
    return msg::lacks_room(std::move(lacks));
  if (r.machine.memory && memory.total() > allowed_bytes(r))
    return msg::leaves_little_room(Percent{r.request.memory_headroom});
  return {};
}

}  // namespace

std::vector<TermGain> term_gains(const StepCost& fast, const StepCost& slow) {
  constexpr double rounding = 1e-9;
  const double least = rounding * std::max(fast.step().count(), slow.step().count());
  std::vector<TermGain> gains;
  for (std::size_t t = 0; t < step_term_count; ++t) {
    const double gain = slow.seconds[t] - fast.seconds[t];
    if (std::abs(gain) > least) gains.push_back({static_cast<StepTerm>(t), gain});
  }
  std::ranges::stable_sort(gains, std::greater<>(),
                           [](const TermGain& g) { return std::abs(g.seconds); });
  return gains;
}

Message gains_in_words(const StepCost& fast, const StepCost& slow) {
  const std::vector<TermGain> gains = term_gains(fast, slow);
  Messages saved;
  for (const TermGain& g : most_of(gains, 1))
    saved.push_back(msg::saved_on(Seconds{g.seconds}, in_list(g.term)));
  Messages spent;
  const double all = (slow.step() - fast.step()).count();
  for (const TermGain& g : most_of(gains, -1))
    if (-g.seconds > 0.05 * all)
      spent.push_back(msg::spent_on(Seconds{-g.seconds}, in_list(g.term)));
  return msg::gains(std::move(saved), std::move(spent));
}

Message plan_sentence(const PlanResult& r) {
  if (r.found.best.empty()) return msg::nothing_fits(r.found.smallest_devices);
  const StepCost& best = r.found.best.front().cost;
  return msg::fastest_plan(best.step(), Percent{best.mfu[0]}, flops_convention_names[0]);
}

Message against_sentence(const PlanResult& r, const AgainstPlan& own) {
  const std::string name = printable(own.label);
  if (!own.cost) return msg::plan_cannot_run(name, printable(own.why_not));
  const StepCost& cost = *own.cost;
  Messages said = {msg::plan_takes(name, cost.step(), Percent{cost.mfu[0]},
                                   ByteSize{cost.memory.total()}, fitting(r, cost.memory))};
  const FoundPlan* best = fastest_beside(r, own);
  if (best == nullptr) {
    said.push_back(msg::no_plan_fits());
    return msg::sentences(std::move(said));
  }
  const Value devices = value_if(r.request.devices.size() > 1, best->plan.devices);
  const Seconds gain = cost.step() - best->cost.step();
  if (gain.count() == 0) {
    said.push_back(msg::is_fastest(devices));
  } else if (gain.count() < 0) {
    said.push_back(msg::faster_than_searched(-gain, devices, gains_in_words(cost, best->cost)));
  } else {
    if (own.rank.faster > 0)
      said.push_back(msg::plans_are_faster(own.rank.complete, format_whole(own.rank.faster)));
    said.push_back(msg::fastest_saves(devices, gain, Percent{gain / cost.step()},
                                      gains_in_words(best->cost, cost)));
  }
  return msg::sentences(std::move(said));
}

Messages predict_warnings(const PredictResult& r) {
  Messages warnings = r.warnings;
  if (!r.fitting) return warnings;
  const FittingPlan& f = *r.fitting;
  if (f.why_not) warnings.push_back(msg::plain(f.why_not->message()));
  if (f.plan) warnings.push_back(msg::another_plan_fits(r.plan.devices, plan_in_words(*f.plan)));
  if (f.smallest_devices)
    warnings.push_back(msg::no_plan_fits_devices(r.plan.devices, *f.smallest_devices));
  return warnings;
}

Message predict_sentence(const PredictResult& r) {
  const StepCost& cost = r.cost;
  const auto most =
      static_cast<std::size_t>(std::ranges::max_element(cost.seconds) - cost.seconds.begin());
  const Message lacks = words_of(shortage(cost.memory, r.machine));
  return joined(msg::sentences,
                {msg::predicted_step(cost.step(), Percent{cost.mfu[0]}, flops_convention_names[0],
                                     words_of(static_cast<StepTerm>(most), r.model),
                                     Percent{cost.seconds[most] / cost.step().count()}),
                 lacks.empty() ? Message() : msg::does_not_fit(lacks)});
}

}  // namespace stepscope

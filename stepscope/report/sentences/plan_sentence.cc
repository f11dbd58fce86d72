// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/plan_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

double step_of(const FoundPlan& p) { return p.cost.step().count(); }

// In a list, where commas part the terms.
std::string_view in_list(StepTerm term) {
  return term == StepTerm::pointwise ? "norms and activations" : words_of(term);
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

// "a, b and c"
std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

// What there is to say of the memory that a plan of one's own takes.
std::string fitting(const PlanResult& r, const Memory& memory) {
  if (const std::string lacks = words_of(shortage(memory, r.machine)); !lacks.empty())
    return fmt::format(": it does not fit, {}", lacks);
  if (r.machine.memory && memory.total() > allowed_bytes(r))
    return fmt::format(": it fits, but leaves less than the {} that the search keeps free",
                       format_percent(r.request.memory_headroom));
  return {};
}

std::string standing(const PlanRank& rank) {
  if (rank.faster == 0) return {};
  return fmt::format("{}{} plans that fit are faster. ", rank.complete ? "" : "More than ",
                     format_whole(rank.faster));
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

std::string gains_in_words(const StepCost& fast, const StepCost& slow) {
  const std::vector<TermGain> gains = term_gains(fast, slow);
  std::vector<std::string> saved;
  for (const TermGain& g : most_of(gains, 1))
    saved.push_back(fmt::format("{} of {}", format_seconds(g.seconds), in_list(g.term)));
  std::string text = listed(saved);
  std::vector<std::string> paid;
  const double all = slow.step().count() - fast.step().count();
  for (const TermGain& g : most_of(gains, -1))
    if (-g.seconds > 0.05 * all)
      paid.push_back(fmt::format("{} more on {}", format_seconds(-g.seconds), in_list(g.term)));
  if (!paid.empty()) text += fmt::format("; it spends {}", listed(paid));
  return text;
}

std::string plan_sentence(const PlanResult& r) {
  if (r.found.best.empty())
    return r.found.smallest_devices
               ? fmt::format("Nothing fits; {} devices would be enough.", *r.found.smallest_devices)
               : "Nothing fits.";
  const FoundPlan& best = r.found.best.front();
  return fmt::format("The fastest plan takes {} a step: {} MFU ({}).",
                     format_seconds(step_of(best)), format_percent(best.cost.mfu[0]),
                     flops_convention_names[0]);
}

std::string against_sentence(const PlanResult& r, const AgainstPlan& own) {
  const std::string name = printable(own.label);
  if (!own.cost) return fmt::format("{} cannot run: {}.", name, printable(own.why_not));
  const StepCost& cost = *own.cost;
  const double step = cost.step().count();
  std::string text = fmt::format("{} takes {} a step, {} MFU, in {}", name, format_seconds(step),
                                 format_percent(cost.mfu[0]), format_bytes(cost.memory.total()));
  text += fitting(r, cost.memory) + ". ";
  const FoundPlan* best = fastest_beside(r, own);
  if (best == nullptr) return text + "No plan fits.";
  const bool several = r.request.devices.size() > 1;
  const std::string fastest =
      several ? fmt::format("fastest plan on {}", best->plan.devices) : "fastest plan";
  const double gain = step - step_of(*best);
  if (gain == 0) return text + fmt::format("It is the {}.", fastest);
  if (gain < 0)
    return text + fmt::format("It is {} faster than the {} that the search may take: {}.",
                              format_seconds(-gain), fastest, gains_in_words(cost, best->cost));
  return text + standing(own.rank) +
         fmt::format("The {} saves {} ({}): {}.", fastest, format_seconds(gain),
                     format_percent(gain / step), gains_in_words(best->cost, cost));
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/plan_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepscope/report/predict_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

std::string difference(double seconds) {
  if (seconds == 0) return "0";
  return fmt::format("{}{}", seconds > 0 ? "-" : "+", format_seconds(std::abs(seconds)));
}

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

std::string difference_table(const StepCost& best, const StepCost& other,
                             const std::string& other_title) {
  std::vector<std::vector<std::string>> rows;
  for (const TermGain& g : term_gains(best, other))
    rows.push_back({std::string(words_of(g.term)), format_seconds(best[g.term]),
                    format_seconds(other[g.term]), difference(g.seconds)});
  rows.push_back({"the step", format_seconds(best.step().count()),
                  format_seconds(other.step().count()),
                  difference(other.step().count() - best.step().count())});
  return text_table({{"", false, 40}, {"best"}, {other_title}, {"difference"}}, std::move(rows),
                    100);
}

}  // namespace stepscope

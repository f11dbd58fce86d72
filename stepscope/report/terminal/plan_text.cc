// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "stepscope/report/sentences/plan_sentence.h"
#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

double step_of(const FoundPlan& p) { return p.cost.step().count(); }

std::string difference(double seconds) {
  if (seconds == 0) return "0";
  return fmt::format("{}{}", seconds > 0 ? "-" : "+", format_seconds(std::abs(seconds)));
}

// The terms side by side with their differences, and the steps.
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

std::string headline(const PlanResult& r) {
  const auto& devices = r.request.devices;
  std::string count = devices.empty() ? "0" : std::to_string(devices.front());
  if (devices.size() > 1) count += fmt::format(" to {}", devices.back());
  return fmt::format("{} · {} × {} · global batch {} × {} tokens · {} plans in {}\n",
                     printable(r.model.name), count, printable(r.machine.name),
                     r.request.base.global_batch, r.request.base.sequence,
                     format_whole(r.found.candidates), format_seconds(r.found.elapsed.count()));
}

// At most `most`, evenly spread, both ends among them.
std::vector<FoundPlan> spread(const std::vector<FoundPlan>& plans, std::size_t most) {
  if (plans.size() <= most) return plans;
  std::vector<FoundPlan> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(plans[i * (plans.size() - 1) / (most - 1)]);
  return some;
}

std::vector<std::string> row_of(const FoundPlan& p) {
  return {std::to_string(p.plan.devices),
          format_seconds(step_of(p)),
          format_percent(p.cost.mfu[0]),
          format_count(p.cost.tokens_per_second),
          format_bytes(p.cost.memory.total()),
          p.near_tie ? "≈" : "",
          plan_in_brief(p.plan)};
}

std::string table(const std::string& title, const std::vector<FoundPlan>& plans,
                  std::size_t width) {
  if (plans.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const FoundPlan& p : plans) rows.push_back(row_of(p));
  return fmt::format("\n{}\n", title) + text_table({{"GPUs"},
                                                    {"step"},
                                                    {"MFU"},
                                                    {"tokens/s"},
                                                    {"memory"},
                                                    {"", false},
                                                    {"plan (micro-batch × count)", false, 120}},
                                                   std::move(rows), width);
}

// Term by term against the runner-up, the largest difference first.
std::string why(const SearchResult& found) {
  if (found.best.size() < 2) return {};
  return fmt::format("\nWhy it wins against {}:\n", say(plan_in_words(found.best[1].plan))) +
         difference_table(found.best[0].cost, found.best[1].cost, "runner-up");
}

std::string shown_against(const PlanResult& r, std::size_t width) {
  std::string out;
  for (const AgainstPlan& own : r.against) {
    out += '\n' + wrapped(against_sentence(r, own), width);
    const FoundPlan* best = fastest_beside(r, own);
    if (own.cost && best != nullptr) out += difference_table(best->cost, *own.cost, "yours");
  }
  return out;
}

std::string rejected(const SearchResult& found) {
  std::vector<std::vector<std::string>> rows = {
      {"feasible", format_whole(found.feasible)},
      {"of them evaluated completely", format_whole(found.evaluated)}};
  for (std::size_t i = 0; i < rejected_count; ++i)
    if (found.rejected[i] > 0)
      rows.push_back({std::string(rejected_names[i]), format_whole(found.rejected[i])});
  return '\n' +
         text_table({{"what became of the plans", false, 80}, {"count"}}, std::move(rows), 100);
}

std::string sensitivity(const SearchResult& found) {
  if (found.sensitivity.empty() || found.best.empty()) return {};
  const double step = step_of(found.best.front());
  std::vector<std::vector<std::string>> rows;
  for (const Sensitivity& s : found.sensitivity)
    rows.push_back({std::string(Sensitivity::names[static_cast<std::size_t>(s.what)]),
                    fmt::format("× {:g}", s.factor),
                    s.step ? format_seconds(*s.step) : "nothing fits",
                    s.step ? fmt::format("{:+.1f} %", (*s.step / step - 1) * 100) : "",
                    s.other ? plan_in_brief(*s.other) : ""});
  return '\n' + text_table({{"if it had", false, 40},
                            {"", false},
                            {"step"},
                            {"change"},
                            {"another plan would win", false, 90}},
                           std::move(rows), 160);
}

std::string ties(const PlanResult& r) {
  const auto near = std::ranges::count(r.found.best, true, &FoundPlan::near_tie);
  if (near < 2) return {};
  return fmt::format("≈: within the model's error ({}) of the fastest.\n",
                     format_percent(r.request.model_error));
}

}  // namespace

std::string plan_text(const PlanResult& r, const PlanTextOptions& options) {
  const TextOptions& text = options.text;
  const auto width = static_cast<std::size_t>(text.width);
  const std::string_view bold = text.colour ? "\033[1m" : "";
  const std::string_view plain = text.colour ? "\033[0m" : "";
  std::string out = headline(r) + '\n';
  out += fmt::format("{}{}{}", bold, wrapped(plan_sentence(r), width), plain);
  if (!r.found.best.empty()) {
    const FoundPlan& best = r.found.best.front();
    out += wrapped(plan_in_words(best.plan), width);
    out += wrapped(interval_in_words(best.cost), width);
  }
  if (r.found.stopped) out += "The search was interrupted: this is what was found until then.\n";
  out += shown_against(r, width) + why(r.found);
  const std::size_t wide = std::max<std::size_t>(width, 120);
  constexpr std::size_t shown = 12;
  out += table("The fastest of each shape:", r.found.best, wide) + ties(r);
  const std::size_t all = r.found.pareto.size();
  const std::string of_all =
      all > shown ? fmt::format(" ({} of {}, all in the JSON)", shown, all) : "";
  out += table(fmt::format("No other plan is both faster and smaller{}:", of_all),
               spread(r.found.pareto, shown), wide);
  if (r.found.by_devices.size() > 1)
    out += table("By the number of devices:", r.found.by_devices, wide);
  out += rejected(r.found) + sensitivity(r.found);
  for (const FrameworkFlags& f : r.flags) {
    if (f.framework != options.framework) continue;
    out += fmt::format("\nThe fastest plan for {}:\n{}", f.framework, f.text);
    for (const std::string& lost : f.not_expressed)
      out += fmt::format("# not expressed: {}\n", lost);
  }
  if (!text.details.empty()) out += '\n' + details_line(text);
  for (const std::string& w : say_all(r.warnings)) out += wrapped("note: " + printable(w), width);
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/report/plan_difference.h"
#include "stepscope/report/predict_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

double step_of(const FoundPlan& p) { return p.cost.step().count(); }
// Counts to the last one: a sum that people may check.
std::string plain_count(std::int64_t n) {
  const std::string text = fmt::format("{}", n);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && (text.size() - i) % 3 == 0) out += ',';
    out += text[i];
  }
  return out;
}

std::string headline(const PlanResult& r) {
  const auto& devices = r.request.devices;
  std::string count = devices.empty() ? "0" : std::to_string(devices.front());
  if (devices.size() > 1) count += fmt::format(" to {}", devices.back());
  return fmt::format("{} · {} × {} · global batch {} × {} tokens · {} plans in {}\n",
                     printable(r.model.name), count, printable(r.machine.name),
                     r.request.base.global_batch, r.request.base.sequence,
                     plain_count(r.found.candidates), format_seconds(r.found.elapsed.count()));
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
  return fmt::format("\nWhy it wins against {}:\n", plan_in_words(found.best[1].plan)) +
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
      {"feasible", plain_count(found.feasible)},
      {"of them evaluated completely", plain_count(found.evaluated)}};
  for (std::size_t i = 0; i < rejected_count; ++i)
    if (found.rejected[i] > 0)
      rows.push_back({std::string(rejected_names[i]), plain_count(found.rejected[i])});
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
                     plain_count(rank.faster));
}

}  // namespace

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

std::string plan_in_brief(const Plan& p) {
  const auto name = [](const auto& names, auto e) { return names[static_cast<std::size_t>(e)]; };
  std::string out = fmt::format("tp{}{}", p.tp, p.sequence_parallel ? "+sp" : "");
  if (p.tensor_layout != TensorLayout::one_d)
    out += fmt::format(" {}", name(tensor_layout_names, p.tensor_layout));
  if (p.cp > 1)
    out += fmt::format(" cp{} {}", p.cp, name(context_exchange_names, p.context_exchange));
  if (p.ep > 1) out += fmt::format(" ep{}", p.ep);
  if (p.pp > 1) out += fmt::format(" pp{} {}", p.pp, name(schedule_names, p.schedule));
  if (p.virtual_stages > 1) out += fmt::format("×{}", p.virtual_stages);
  out += fmt::format(" dp{} zero{}", p.dp, p.zero);
  if (p.shard_group > 0) out += fmt::format("/{}", p.shard_group);
  out += fmt::format(" {}×{}", p.micro_batch, micro_batches(p));
  if (p.recompute != Recompute::none)
    out += fmt::format(" recompute {}", name(recompute_names, p.recompute));
  if (p.recompute == Recompute::every_k) out += fmt::format("={}", p.recompute_every);
  if (p.optimizer_at != Residence::device || p.gradients_at != Residence::device ||
      p.parameters_at != Residence::device)
    out += " offload";
  return out;
}

double allowed_bytes(const PlanResult& r) {
  return static_cast<double>(r.machine.memory.value_or(Bytes{0}).value) *
         (1 - r.request.memory_headroom);
}

const FoundPlan* fastest_beside(const PlanResult& r, const AgainstPlan& own) {
  const auto& counts = r.found.by_devices;
  const auto same = std::ranges::find(counts, own.plan.devices,
                                      [](const FoundPlan& p) { return p.plan.devices; });
  if (same != counts.end()) return &*same;
  return r.found.best.empty() ? nullptr : &r.found.best.front();
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

std::string plan_text(const PlanResult& r, const PlanTextOptions& options) {
  const TextOptions& text = options.text;
  const auto width = static_cast<std::size_t>(text.width);
  const std::string_view bold = text.colour ? "\033[1m" : "";
  const std::string_view plain = text.colour ? "\033[0m" : "";
  std::string out = headline(r) + '\n';
  out += fmt::format("{}{}{}", bold, wrapped(plan_sentence(r), width), plain);
  if (!r.found.best.empty()) out += wrapped(plan_in_words(r.found.best.front().plan) + '.', width);
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
  if (!text.details.empty()) out += fmt::format("\nDetails: {}\n", printable(text.details));
  for (const std::string& w : r.warnings) out += wrapped("note: " + printable(w), width);
  return out;
}

}  // namespace stepscope

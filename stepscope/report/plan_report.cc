// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepscope/cost/plan_json.h"
#include "stepscope/report/format.h"
#include "stepscope/report/predict_report.h"
#include "stepscope/report/text_table.h"

namespace stepscope {
namespace {

constexpr double ns_per_s = 1e9;

double step_of(const FoundPlan& p) { return p.cost.step().count(); }
std::string time(double seconds) { return format_time(seconds * ns_per_s); }

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

std::string headline(const PlanReport& r) {
  const auto& devices = r.request.devices;
  std::string count = devices.empty() ? "0" : std::to_string(devices.front());
  if (devices.size() > 1) count += fmt::format(" to {}", devices.back());
  return fmt::format("{} · {} × {} · global batch {} × {} tokens · {} plans in {}\n",
                     printable(r.model->name), count, printable(r.machine->name),
                     r.request.base.global_batch, r.request.base.sequence,
                     plain_count(r.result.candidates), time(r.result.elapsed.count()));
}

// A plan as short as a table needs it: "tp4+sp pp4 interleaved×24 dp64 zero3/32 3×8 full".
std::string brief(const Plan& p) {
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

// At most `most`, evenly spread, both ends among them.
std::vector<FoundPlan> spread(const std::vector<FoundPlan>& plans, std::size_t most) {
  if (plans.size() <= most) return plans;
  std::vector<FoundPlan> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(plans[i * (plans.size() - 1) / (most - 1)]);
  return some;
}

std::vector<std::string> row_of(const FoundPlan& p) {
  return {std::to_string(p.plan.devices),
          time(step_of(p)),
          format_percent(p.cost.mfu[0]),
          format_count(p.cost.tokens_per_second),
          format_bytes(p.cost.memory.total()),
          p.near_tie ? "≈" : "",
          brief(p.plan)};
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
  const FoundPlan& best = found.best[0];
  const FoundPlan& second = found.best[1];
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < step_term_count; ++t)
    if (best.cost.seconds[t] != second.cost.seconds[t]) order.push_back(t);
  const auto gain = [&](std::size_t t) { return second.cost.seconds[t] - best.cost.seconds[t]; };
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t t) { return std::abs(gain(t)); });
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t t : order)
    rows.push_back({std::string(words_of(static_cast<StepTerm>(t))), time(best.cost.seconds[t]),
                    time(second.cost.seconds[t]),
                    fmt::format("{}{}", gain(t) > 0 ? "-" : "+", time(std::abs(gain(t))))});
  const double all = step_of(second) - step_of(best);
  rows.push_back(
      {"the step", time(step_of(best)), time(step_of(second)), fmt::format("-{}", time(all))});
  std::string out = fmt::format("\nWhy it wins against {}:\n", plan_in_words(second.plan));
  return out + text_table({{"", false, 40}, {"best"}, {"runner-up"}, {"difference"}},
                          std::move(rows), 100);
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
                    fmt::format("× {:g}", s.factor), s.step ? time(*s.step) : "nothing fits",
                    s.step ? fmt::format("{:+.1f} %", (*s.step / step - 1) * 100) : "",
                    s.other ? brief(*s.other) : ""});
  return '\n' + text_table({{"if it had", false, 40},
                            {"", false},
                            {"step"},
                            {"change"},
                            {"another plan would win", false, 90}},
                           std::move(rows), 160);
}

std::string ties(const PlanReport& r) {
  const auto near = std::ranges::count(r.result.best, true, &FoundPlan::near_tie);
  if (near < 2) return {};
  return fmt::format("≈: within the model's error ({}) of the fastest.\n",
                     format_percent(r.request.model_error));
}

Json found_json(const FoundPlan& p) {
  Json memory = Json::object();
  for (std::size_t t = 0; t < memory_term_count; ++t)
    memory[std::string(memory_term_names[t])] = p.cost.memory.bytes[t];
  memory["total"] = p.cost.memory.total();
  Json terms = Json::object();
  for (std::size_t t = 0; t < step_term_count; ++t)
    terms[std::string(step_term_names[t])] = p.cost.seconds[t] * ns_per_s;
  return {{"plan", Json::parse(plan_json(p.plan))},
          {"words", plan_in_words(p.plan)},
          {"step_time_ns", step_of(p) * ns_per_s},
          {"mfu", p.cost.mfu[0]},
          {"tokens_per_second", p.cost.tokens_per_second},
          {"memory_bytes", std::move(memory)},
          {"terms_ns", std::move(terms)},
          {"near_tie", p.near_tie}};
}

Json found_list(const std::vector<FoundPlan>& plans) {
  Json out = Json::array();
  for (const FoundPlan& p : plans) out.push_back(found_json(p));
  return out;
}

}  // namespace

std::string plan_sentence(const PlanReport& r) {
  if (r.result.best.empty())
    return r.result.smallest_devices ? fmt::format("Nothing fits; {} devices would be enough.",
                                                   *r.result.smallest_devices)
                                     : "Nothing fits.";
  const FoundPlan& best = r.result.best.front();
  return fmt::format("The fastest plan takes {} a step, {} MFU ({}): {}.", time(step_of(best)),
                     format_percent(best.cost.mfu[0]), flops_convention_names[0],
                     plan_in_words(best.plan));
}

std::string plan_text(const PlanReport& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const std::string_view bold = options.colour ? "\033[1m" : "";
  const std::string_view plain = options.colour ? "\033[0m" : "";
  std::string out = headline(r) + '\n';
  out += fmt::format("{}{}{}", bold, wrapped(plan_sentence(r), width), plain);
  if (r.result.stopped) out += "The search was interrupted: this is what was found until then.\n";
  out += why(r.result);
  const std::size_t wide = std::max<std::size_t>(width, 120);
  constexpr std::size_t shown = 12;
  out += table("The fastest of each shape:", r.result.best, wide) + ties(r);
  const std::size_t all = r.result.pareto.size();
  const std::string of_all =
      all > shown ? fmt::format(" ({} of {}, all in the JSON)", shown, all) : "";
  out += table(fmt::format("No other plan is both faster and smaller{}:", of_all),
               spread(r.result.pareto, shown), wide);
  if (r.result.by_devices.size() > 1)
    out += table("By the number of devices:", r.result.by_devices, wide);
  out += rejected(r.result) + sensitivity(r.result);
  if (!r.flags.empty()) out += "\nThe fastest plan there:\n" + r.flags;
  for (const std::string& w : r.warnings) out += wrapped("note: " + printable(w), width);
  return out;
}

Json plan_tree(const PlanReport& r) {
  const SearchResult& found = r.result;
  Json reasons = Json::object();
  for (std::size_t i = 0; i < rejected_count; ++i)
    reasons[std::string(rejected_names[i])] = found.rejected[i];
  Json changes = Json::array();
  for (const Sensitivity& s : found.sensitivity)
    changes.push_back({{"what", std::string(Sensitivity::names[static_cast<std::size_t>(s.what)])},
                       {"factor", s.factor},
                       {"step_time_ns", s.step ? Json(*s.step * ns_per_s) : Json()},
                       {"other_plan", s.other ? Json::parse(plan_json(*s.other)) : Json()}});
  return {{"schema", "stepscope.plan/1"},
          {"version", r.version},
          {"answer", {{"sentence", plan_sentence(r)}}},
          {"model", r.model->name},
          {"machine", r.machine->name},
          {"devices", r.request.devices},
          {"candidates", found.candidates},
          {"feasible", found.feasible},
          {"evaluated", found.evaluated},
          {"rejected", std::move(reasons)},
          {"elapsed_ns", found.elapsed.count() * ns_per_s},
          {"best", found_list(found.best)},
          {"pareto", found_list(found.pareto)},
          {"by_devices", found_list(found.by_devices)},
          {"sensitivity", std::move(changes)},
          {"smallest_devices", value(found.smallest_devices)},
          {"flags", text_or_null(r.flags)},
          {"warnings", r.warnings}};
}

}  // namespace stepscope

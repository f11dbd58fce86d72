// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/plan/plan_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/predict/predict_json.h"
#include "stepscope/verbs/sections/plan_words.h"

namespace stepscope {

namespace {

// In a list, where commas part the terms.
Value in_list(StepTerm term) {
  return term == StepTerm::pointwise ? Value(msg::norms_and_activations()) : words_of(term);
}

// The terms of one sign that make nine tenths of their sum, three at most.
std::vector<TermGain> most_of(const std::vector<TermGain>& gains, double sign) {
  constexpr std::size_t max_terms = 3;
  double all = 0;
  for (const TermGain& g : gains) all += std::max(0.0, sign * g.seconds);
  std::vector<TermGain> some;
  double sum = 0;
  for (const TermGain& g : gains) {
    if (sign * g.seconds <= 0) continue;
    if (some.size() == max_terms || sum >= 0.9 * all) break;
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
  return msg::fastest_plan(best.step(), Percent{best.mfu[0]},
                           convention_name(r.model, FlopsConvention::causal_halved));
}

Message against_sentence(const PlanResult& r, const AgainstPlan& own) {
  const std::string name = printable(own.label);
  if (!own.cost) return msg::plan_cannot_run(name, printable(worded(own.why_not)));
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

namespace {

Json terms_json(const StepCost& cost) {
  Json out = Json::object();
  for (std::size_t t = 0; t < step_term_count; ++t)
    out[std::string(step_term_names[t])] = cost.seconds[t] * ns_per_s;
  return out;
}

// What `best[]` and `against[]` share; null figures where there is no cost.
Json plan_figures(const Plan& plan, const StepCost* cost) {
  return {{"plan", Json::parse(plan_json(plan))},
          {"words", say(plan_in_words(plan))},
          {"brief", plan_in_brief(plan)},
          {"step_time_ns", cost ? Json(cost->step().count() * ns_per_s) : Json()},
          {"step_interval_ns", cost ? interval_tree(*cost) : Json()},
          {"mfu", cost ? Json(cost->mfu[0]) : Json()},
          {"tokens_per_second", cost ? Json(cost->tokens_per_second) : Json()},
          {"memory_bytes", cost ? memory_tree(cost->memory) : Json()},
          {"terms_ns", cost ? terms_json(*cost) : Json()}};
}

Json found_list(const std::vector<FoundPlan>& plans) {
  Json out = Json::array();
  for (const FoundPlan& p : plans) {
    Json row = plan_figures(p.plan, &p.cost);
    row["near_tie"] = p.near_tie;
    out.push_back(std::move(row));
  }
  return out;
}

Json gains_json(const PlanResult& r, const AgainstPlan& own) {
  Json out = Json::array();
  const FoundPlan* best = fastest_beside(r, own);
  if (!own.cost || best == nullptr) return out;
  for (const TermGain& g : term_gains(best->cost, *own.cost))
    out.push_back({{"term", std::string(step_term_names[static_cast<std::size_t>(g.term)])},
                   {"ns", g.seconds * ns_per_s}});
  return out;
}

Json against_list(const PlanResult& r) {
  Json out = Json::array();
  for (const AgainstPlan& own : r.against) {
    Json row = {{"label", own.label}};
    row.update(plan_figures(own.plan, own.cost ? &*own.cost : nullptr));
    const bool sized = own.cost && r.machine.memory;
    const double total = own.cost ? own.cost->memory.total() : 0;
    const double spare = sized ? static_cast<double>(r.machine.memory->value) - total : 0;
    row["headroom_bytes"] = sized ? Json(spare) : Json();
    row["fits"] = sized ? Json(!shortage(own.cost->memory, r.machine).any()) : Json();
    row["allowed"] = sized ? Json(total <= allowed_bytes(r)) : Json();
    row["faster_plans"] = own.cost ? Json(own.rank.faster) : Json();
    row["faster_plans_complete"] = own.cost ? Json(own.rank.complete) : Json();
    row["gains"] = gains_json(r, own);
    row["sentence"] = say_stopped(against_sentence(r, own));
    row["error"] = text_or_null(worded(own.why_not));
    out.push_back(std::move(row));
  }
  return out;
}

Json sensitivity_list(const SearchResult& found) {
  Json out = Json::array();
  for (const Sensitivity& s : found.sensitivity)
    out.push_back({{"what", std::string(Sensitivity::names[static_cast<std::size_t>(s.what)])},
                   {"factor", s.factor},
                   {"step_time_ns", s.step ? Json(*s.step * ns_per_s) : Json()},
                   {"other_plan", s.other ? Json::parse(plan_json(*s.other)) : Json()},
                   {"other", s.other ? Json(plan_in_brief(*s.other)) : Json()}});
  return out;
}

Json flags_list(const PlanResult& r) {
  Json out = Json::array();
  for (const FrameworkFlags& f : r.flags)
    out.push_back(
        {{"framework", f.framework}, {"text", f.text}, {"not_expressed", f.not_expressed}});
  return out;
}

}  // namespace

namespace {

// What the flags of the request decide and the search does not, where it may make the best plan
// faster on this machine.
Message not_tried(const PlanResult& r) {
  const Plan& best = r.found.best.front().plan;
  Messages flags;
  const Dtype dtype = best.precision.matmul;
  if ((dtype == Dtype::bf16 || dtype == Dtype::fp16) && peak(r.machine, Dtype::fp8))
    flags.push_back(msg::plain("--dtype fp8"));
  if (best.ep > 1 && !best.overlap.experts) flags.push_back(msg::plain("--ep-overlap"));
  if (best.ep > 1 && !best.experts.narrow_dispatch)
    flags.push_back(msg::plain("--narrow-dispatch"));
  if (best.tp > 1 && !best.overlap.tensor) flags.push_back(msg::plain("--tp-overlap"));
  return flags.empty() ? Message() : msg::not_tried(std::move(flags));
}

// What the fastest plan rests on.
Messages remarks_of(const PlanResult& r) {
  Messages out;
  if (r.found.best.empty()) return out;
  if (r.found.offload_searched && !r.request.offload)
    out.push_back(msg::fits_offloaded(ByteSize{allowed_bytes(r)}));
  if (Message more = not_tried(r); !more.empty()) out.push_back(std::move(more));
  return out;
}

Json remarks_json(const PlanResult& r) {
  Json out = Json::array();
  for (const Message& remark : remarks_of(r)) out.push_back(say_stopped(remark));
  return out;
}

}  // namespace

Json plan_tree(const PlanResult& r) {
  const SearchResult& found = r.found;
  Json reasons = Json::object();
  for (std::size_t i = 0; i < rejected_count; ++i)
    reasons[std::string(rejected_names[i])] = found.rejected[i];
  return {{"schema", "stepscope.plan/1"},
          {"version", version()},
          {"answer",
           {{"sentence", say_stopped(plan_sentence(r))},
            {"plan", found.best.empty() ? Json() : Json(say(plan_in_words(found.best[0].plan)))},
            {"remarks", remarks_json(r)}}},
          {"model", r.model.name},
          {"machine", r.machine.name},
          {"devices", r.request.devices},
          {"global_batch", r.request.base.batch.global},
          {"sequence", r.request.base.batch.sequence},
          {"memory",
           {{"capacity_bytes", value(r.machine.memory)}, {"allowed_bytes", allowed_bytes(r)}}},
          {"model_error", r.request.model_error},
          {"terms", terms_json({"step_term", "predicted_memory"})},
          {"candidates", found.candidates},
          {"feasible", found.feasible},
          {"evaluated", found.evaluated},
          {"rejected", std::move(reasons)},
          {"elapsed_ns", found.elapsed.count() * ns_per_s},
          {"best", found_list(found.best)},
          {"against", against_list(r)},
          {"pareto", found_list(found.pareto)},
          {"by_devices", found_list(found.by_devices)},
          {"sensitivity", sensitivity_list(found)},
          {"smallest_devices", value(found.smallest_devices)},
          {"flags", flags_list(r)},
          {"warnings", say_all(r.warnings)}};
}

std::vector<TreeTable> plan_tables(const Json& tree) {
  Json rejected = Json::array();
  rejected.push_back({{"what", "feasible"}, {"plans", tree["feasible"]}});
  for (const auto& [reason, plans] : tree["rejected"].items())
    rejected.push_back({{"what", reason}, {"plans", plans}});
  return {table_of("plans", tree["best"]),
          table_of("pareto", tree["pareto"]),
          table_of("by_devices", tree["by_devices"]),
          table_of("against", tree["against"]),
          table_of("rejected", rejected),
          table_of("sensitivity", tree["sensitivity"])};
}

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
                     r.request.base.batch.global, r.request.base.batch.sequence,
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
  std::vector<std::vector<std::string>> rows = {{"feasible", format_whole(found.feasible)}};
  for (std::size_t i = 0; i < rejected_count; ++i)
    if (found.rejected[i] > 0)
      rows.push_back({std::string(rejected_names[i]), format_whole(found.rejected[i])});
  return '\n' + text_table({{fmt::format("what became of the plans ({} evaluated completely)",
                                         format_whole(found.evaluated)),
                             false, 80},
                            {"count"}},
                           std::move(rows), 100);
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
  for (const Message& remark : remarks_of(r)) out += wrapped(remark, width);
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

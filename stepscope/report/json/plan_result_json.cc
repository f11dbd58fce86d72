// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/plan_result_json.h"

#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/report/json/json_values.h"
#include "stepscope/report/json/predict_json.h"
#include "stepscope/report/sentences/plan_sentence.h"
#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/say/say.h"

namespace stepscope {
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
    row["error"] = text_or_null(own.why_not);
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

Json plan_tree(const PlanResult& r) {
  const SearchResult& found = r.found;
  Json reasons = Json::object();
  for (std::size_t i = 0; i < rejected_count; ++i)
    reasons[std::string(rejected_names[i])] = found.rejected[i];
  return {{"schema", "stepscope.plan/1"},
          {"version", version()},
          {"answer",
           {{"sentence", say_stopped(plan_sentence(r))},
            {"plan", found.best.empty() ? Json() : Json(say(plan_in_words(found.best[0].plan)))}}},
          {"model", r.model.name},
          {"machine", r.machine.name},
          {"devices", r.request.devices},
          {"global_batch", r.request.base.global_batch},
          {"sequence", r.request.base.sequence},
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

}  // namespace stepscope

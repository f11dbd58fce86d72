// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/log_json.h"

namespace stepscope {
namespace {

Json tools_tree(const JobLog& log) {
  Json tools = Json::array();
  for (const LogToolLines& t : log.tools)
    if (t.lines > 0) tools.push_back({{"name", t.tool->name}, {"lines", t.lines}});
  return tools;
}

Json iteration(std::int64_t i) { return i < 0 ? Json(nullptr) : Json(i); }

Json rates_tree(const LogRates& rates) {
  Json out = Json::array();
  for (const LogRate& r : rates.rates) {
    const double unit = r.is_mfu ? 1 : tera;
    const auto figure = [&](std::optional<double> v) {
      return v ? Json(*v / unit) : Json(nullptr);
    };
    out.push_back({{"tool", r.tool->name},
                   {"name", r.name},
                   {"unit", r.is_mfu ? "mfu" : "tflops"},
                   {"printed", figure(r.printed)},
                   {"convention", r.convention},
                   {"factor", real(r.factor)},
                   {"value", figure(r.ours)},
                   {"mfu", real(r.mfu)},
                   {"remark", text_or_null(r.remark)}});
  }
  return out;
}

Json timers_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogTimerRow& t : a.timers)
    out.push_back({{"name", t.name},
                   {"tool", t.tool->name},
                   {"count", t.count},
                   {"median_ns", t.median_ns},
                   {"share", real(t.share)}});
  return out;
}

Json communication_tree(const LogAccount& a) {
  Json out = Json::array();
  const auto rate = [](std::optional<double> r) { return r ? Json(*r / giga) : Json(nullptr); };
  for (const LogCommunicationRow& c : a.communication)
    out.push_back({{"operation", c.printed.operation},
                   {"size", c.printed.size},
                   {"bytes", real(c.bytes)},
                   {"count", c.printed.count},
                   {"total_ns", c.printed.total_ms * 1e6},
                   {"mean_ns", c.printed.calls_ms * 1e6},
                   {"printed_algbw_gbit_per_s", c.printed.printed_algbw_gbit},
                   {"printed_busbw_gbit_per_s", c.printed.printed_busbw_gbit},
                   {"algbw_gb_per_s", rate(c.algbw)},
                   {"busbw_gb_per_s", rate(c.busbw)}});
  return out;
}

Json profiles_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogProfileRow& p : a.profiles)
    out.push_back(
        {{"step", iteration(p.printed.step)},
         {"forward_flops", real(p.printed.forward_flops)},
         {"printed_forward_tflops", p.printed.printed_forward_rate
                                        ? Json(*p.printed.printed_forward_rate / tera)
                                        : Json(nullptr)},
         {"forward_tflops", p.forward_rate ? Json(*p.forward_rate / tera) : Json(nullptr)},
         {"tflops", p.rate ? Json(*p.rate / tera) : Json(nullptr)},
         {"printed_samples_per_s", real(p.printed.printed_samples_per_s)},
         {"samples_per_s", real(p.samples_per_s)},
         {"faults", p.faults}});
  return out;
}

Json launches_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogLaunch& l : a.launches)
    out.push_back({{"first_iteration", iteration(l.first_iteration)},
                   {"last_iteration", iteration(l.last_iteration)},
                   {"records", l.records},
                   {"median_ns", l.median_ns}});
  return out;
}

Json changes_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogChange& c : a.changes)
    out.push_back({{"iteration", iteration(c.iteration)},
                   {"before_ns", c.before_ns},
                   {"after_ns", c.after_ns}});
  return out;
}

Json drift_tree(const LogAccount& a) {
  if (!a.drift) return nullptr;
  return {{"first_ns", a.drift->first}, {"last_ns", a.drift->last}, {"p", a.drift->p}};
}

Json setting(const JobLog& log, std::string_view name) {
  const auto found = log.settings.find(name);
  return found == log.settings.end() ? Json(nullptr) : Json(found->second);
}

Json run_tree(const JobLog& log) {
  if (!log.run) return nullptr;
  const LogRun& run = *log.run;
  const auto ns = [](std::optional<double> s) { return s ? Json(*s * giga) : Json(nullptr); };
  return {{"tool", run.tool->name},
          {"benchmark", setting(log, "submission_benchmark")},
          {"organisation", setting(log, "submission_org")},
          {"platform", setting(log, "submission_platform")},
          {"division", setting(log, "submission_division")},
          {"status", text_or_null(run.status)},
          {"init_ns", ns(run.init_s)},
          {"run_ns", ns(run.run_s)},
          {"evaluations", run.evaluations},
          {"evaluation_ns", run.evaluation_s * giga},
          {"first_accuracy", real(run.first_accuracy)},
          {"last_accuracy", real(run.last_accuracy)},
          {"target_accuracy", real(run.target_accuracy)},
          {"last_samples", real(run.last_samples)}};
}

}  // namespace

Json log_tree(const LogFacts& r) {
  const LogAccount& a = r.account;
  Json loss = nullptr;
  if (a.loss)
    loss = {{"first", a.loss->first},
            {"last", a.loss->last},
            {"least", a.loss->least},
            {"least_iteration", iteration(a.loss->least_iteration)},
            {"not_finite", a.loss->not_finite}};
  Json notes = Json::object();
  for (const auto& [reason, count] : r.log.notes) notes[reason] = count;
  return {{"tools", tools_tree(r.log)},
          {"steps_from", r.steps.tool->name},
          {"how", r.steps.how},
          {"records", r.steps.steps.size()},
          {"steps_per_record", a.steps_per_record},
          {"first_iteration", iteration(a.first_iteration)},
          {"last_iteration", iteration(a.last_iteration)},
          {"ranks", r.steps.ranks},
          {"launches", launches_tree(a)},
          {"changes", changes_tree(a)},
          {"drift", drift_tree(a)},
          {"global_batch", real(a.batch)},
          {"sequence", real(a.sequence)},
          {"devices", real(a.devices)},
          {"model", text_or_null(r.model.source)},
          {"tokens_per_s", real(a.tokens_per_s)},
          {"samples_per_s", real(a.samples_per_s)},
          {"printed_samples_per_s", real(a.printed_samples_per_s)},
          {"rates", rates_tree(r.rates)},
          {"loss", std::move(loss)},
          {"skipped_steps", a.skipped},
          {"memory_bytes", real(a.memory_bytes)},
          {"memory_share", real(a.memory_share)},
          {"timers", timers_tree(a)},
          {"communication", communication_tree(a)},
          {"profiles", profiles_tree(a)},
          {"run", run_tree(r.log)},
          {"notes", std::move(notes)},
          {"text_bytes", r.log.text_bytes},
          {"truncated", r.log.truncated}};
}

}  // namespace stepscope

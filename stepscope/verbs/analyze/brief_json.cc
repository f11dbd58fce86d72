// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/brief_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/remedy.h"

namespace stepscope {
namespace {

constexpr std::size_t most_findings = 5;
constexpr std::size_t most_evidence = 2;
constexpr std::size_t most_alternatives = 3;
constexpr std::size_t most_warnings = 3;
constexpr std::size_t most_letters = 240;  // of one text
constexpr std::size_t most_listed = 16;    // ranks, steps

std::string cut(std::string_view text) { return shorten(printable(text), most_letters); }

template <class T>
std::vector<T> first_of(std::vector<T> all) {
  if (all.size() > most_listed) all.resize(most_listed);
  return all;
}

Json culprit_row(const Analysis& report, const Culprit& c) {
  return {{"kind", name_of(culprit_kind_names, c.kind)},
          {"ranks", first_of(c.ranks)},
          {"ranks_count", c.ranks.size()},
          {"group", value(c.group)},
          {"dim", text_or_null(c.dim)},
          {"stage", value(c.stage)},
          {"steps", first_of(c.steps)},
          {"gain_ns", value(c.gain)},
          {"share", c.share},
          {"confidence", name_of(confidence_names, c.confidence)},
          {"next", text_or_null(whatif_command(report, c.change))}};
}

Json verdict(const Analysis& report) {
  const std::vector<Culprit>& all = report.answer.culprits;
  if (all.empty()) return nullptr;
  Json first = culprit_row(report, all.front());
  Json others = Json::array();
  for (std::size_t i = 1; i < all.size() && i <= most_alternatives; ++i)
    others.push_back(culprit_row(report, all[i]));
  first["alternatives"] = std::move(others);
  return first;
}

Json findings(const Analysis& report) {
  Json out = Json::array();
  const auto step = static_cast<double>(step_length(report.job).count());
  for (const Finding& f : report.findings) {
    if (!f.under.empty() || out.size() == most_findings) continue;
    Json evidence = Json::array();
    for (const Message& e : f.evidence)
      if (evidence.size() < most_evidence) evidence.push_back(cut(say(e)));
    const bool replayed = f.confidence == Confidence::high || f.sort == FindingSort::fault;
    out.push_back(
        {{"key", f.key},
         {"sort", finding_sort_names[static_cast<std::size_t>(f.sort)]},
         {"what", cut(say(f.what))},
         {"gain_ns", value(f.gain)},
         {"share",
          f.gain && step > 0 ? Json(static_cast<double>(f.gain->count()) / step) : Json(nullptr)},
         {"confidence", name_of(confidence_names, f.confidence)},
         {"evidence", std::move(evidence)},
         {"advice", cut(say(f.advice))},
         {"next", replayed && parse_scenario(f.change) ? Json(whatif_command(report, f.change))
                                                       : Json(nullptr)}});
  }
  return out;
}

Json budget(const JobResult& job) {
  Json out = Json::object();
  for (std::size_t c = 0; c < budget_category_count; ++c)
    if (const double mean = job.steps.spread[c].mean; mean > 0)
      out[std::string(budget_category_names[c])] = std::llround(mean);
  return out;
}

}  // namespace

Json brief_tree(const Analysis& report) {
  Json warnings = Json::array();
  for (const std::string& w : say_all(report.warnings))
    if (warnings.size() < most_warnings) warnings.push_back(cut(w));
  const JobResult& job = report.job;
  return {{"schema", "stepscope.brief/1"},
          {"version", report.version},
          {"ranks", job.ranks.size()},
          {"device", job.ranks.empty() ? Json(nullptr) : Json(job.ranks.front().device.label())},
          {"steps", job.steps.common.empty()
                        ? Json(nullptr)
                        : Json({job.steps.common.front().index, job.steps.common.back().index})},
          {"step_ns", value(step_length(job))},
          {"sentence", say_stopped(report.answer.sentence)},
          {"verdict", verdict(report)},
          {"budget_ns", budget(job)},
          {"findings", findings(report)},
          {"findings_count", report.findings.size()},
          {"warnings", std::move(warnings)},
          {"warnings_count", report.warnings.size()}};
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_json.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepscope/face/tree/json_values.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze_json.h"
#include "stepscope/verbs/analyze/explanation_views.h"
#include "stepscope/verbs/stacks/stacks_sentence.h"

namespace stepscope {
namespace {

Json weights_json(const std::array<double, budget_category_count>& device) {
  Json out = Json::object();
  for (std::size_t c = 0; c < device.size(); ++c)
    if (device[c] > 0)
      out[std::string(budget_category_names[c])] = static_cast<std::int64_t>(device[c]);
  return out;
}

Json threads_json(const StacksResult& r, const StackJoin& join) {
  Json out = Json::array();
  for (const JoinedThread& t : join.threads) {
    Json phases = Json::array();
    for (const JoinedPhase& p : t.phases)
      phases.push_back({{"phase", r.rules.phases[p.phase].name},
                        {"pass", r.rules.passes[p.pass].name},
                        {"weight", static_cast<std::int64_t>(p.weight)},
                        {"device", weights_json(p.meanwhile.device)},
                        {"outside", static_cast<std::int64_t>(p.meanwhile.outside)}});
    const auto place = std::ranges::find(r.summary.threads, t.thread, &ThreadSummary::thread);
    out.push_back({{"thread", place - r.summary.threads.begin()},
                   {"weight", static_cast<std::int64_t>(t.weight)},
                   {"device", weights_json(t.meanwhile.device)},
                   {"outside", static_cast<std::int64_t>(t.meanwhile.outside)},
                   {"phases", std::move(phases)}});
  }
  return out;
}

Json profile_json(const StacksResult& r, const ProfileBesideTrace& p) {
  const RankResult& rank = rank_of(r, p);
  const Ns origin = r.trace->job.clocks.origin;
  const bool steps = !rank.steps.empty();
  Json budget = Json::object();
  for (std::size_t c = 0; c < budget_category_count; ++c)
    budget[std::string(budget_category_names[c])] = value(rank.budget.total.time[c]);
  return {{"input", p.input},
          {"rank", rank.rank},
          {"device", rank.device.kind},
          {"joined", p.join.has_value()},
          {"not_joined", text_or_null(say(p.why_not))},
          {"offset_ns", value(p.offset)},
          {"start_ns", p.join ? value(p.join->first - origin) : Json(nullptr)},
          {"end_ns", p.join ? value(p.join->last - origin) : Json(nullptr)},
          {"first_step", steps ? Json(rank.steps.front().index) : Json(nullptr)},
          {"last_step", steps ? Json(rank.steps.back().index) : Json(nullptr)},
          {"steps", rank.steps.size()},
          {"budget_ns", std::move(budget)},
          {"threads", p.join ? threads_json(r, *p.join) : Json::array()}};
}

// Counts without ".0".
Json number(double v) {
  const bool whole = v == std::floor(v) && std::abs(v) < 9e15;
  return whole ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

Json column(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double v : values) out.push_back(number(v));
  return out;
}

Json inputs(const Profile& p) {
  Json out = Json::array();
  for (const ProfileInput& i : p.inputs) {
    Json notes = Json::object();
    for (const auto& [reason, count] : i.notes) notes[reason] = count;
    out.push_back({{"path", i.path},
                   {"format", i.format},
                   {"text_bytes", i.bytes},
                   {"stacks", i.stacks},
                   {"truncated", i.truncated},
                   {"notes", std::move(notes)}});
  }
  return out;
}

Json weights(const StacksResult& r, const std::vector<PhaseWeight>& some) {
  Json out = Json::array();
  for (const PhaseWeight& w : some)
    out.push_back({{"phase", r.rules.phases[w.phase].name},
                   {"pass", r.rules.passes[w.pass].name},
                   {"weight", number(w.weight)}});
  return out;
}

Json threads(const StacksResult& r) {
  Json out = Json::array();
  for (const ThreadSummary& t : r.summary.threads) {
    const ProfileThread& thread = r.profile.threads[t.thread];
    out.push_back({{"name", thread.name},
                   {"process", text_or_null(thread.process)},
                   {"input", thread.input},
                   {"weight", number(t.weight)},
                   {"busy", number(t.busy)},
                   {"idle", number(t.idle)},
                   {"hidden", number(t.hidden)},
                   {"phases", weights(r, t.phases)}});
  }
  return out;
}

// The phases that occur, in this profile or in the one before.
Json phases(const StacksResult& r) {
  std::map<std::uint32_t, double> before;
  if (r.before)
    for (const PhaseWeight& w : by_phase(r.before->summary.phases)) before[w.phase] = w.weight;
  std::vector<PhaseWeight> all = by_phase(r.summary.phases);
  for (const auto& [phase, weight] : before)
    if (std::ranges::find(all, phase, &PhaseWeight::phase) == all.end())
      all.push_back({.phase = phase, .pass = 0, .weight = 0});
  Json out = Json::array();
  for (const PhaseWeight& w : all) {
    const HostPhase& phase = r.rules.phases[w.phase];
    const bool busy = phase.kind != PhaseKind::idle && phase.kind != PhaseKind::hidden;
    Json passes = Json::object();
    for (const PhaseWeight& p : r.summary.phases)
      if (p.phase == w.phase) passes[r.rules.passes[p.pass].name] = number(p.weight);
    out.push_back(
        {{"name", phase.name},
         {"label", phase.label},
         {"kind", name_of(phase_kind_names, phase.kind)},
         {"explanation", phase.explanation},
         {"weight", number(w.weight)},
         {"share_of_busy", busy ? Json(share_or_zero(w.weight, r.summary.busy)) : Json(nullptr)},
         {"share_of_busy_before", busy && r.before
                                      ? Json(share_or_zero(before[w.phase], r.before->summary.busy))
                                      : Json(nullptr)},
         {"passes", std::move(passes)}});
  }
  return out;
}

Json functions(const StacksResult& r) {
  constexpr std::size_t max_rows = 500;
  Json out = Json::array();
  for (const FunctionWeight& f : r.summary.functions) {
    if (out.size() == max_rows) break;
    const FrameFacts& facts = r.phases.frames[index(f.frame)];
    out.push_back({{"frame", std::string(r.profile.strings[f.frame])},
                   {"function", std::string(facts.frame.function)},
                   {"file", text_or_null(std::string(facts.file))},
                   {"line", facts.line > 0 ? Json(facts.line) : Json(nullptr)},
                   {"line_by_table", facts.by_table},
                   {"kind", name_of(frame_kind_names, facts.frame.kind)},
                   {"phase", f.phase ? Json(r.rules.phases[*f.phase].name) : Json(nullptr)},
                   {"phase_weight", number(f.phase_weight)},
                   {"self", number(f.self)},
                   {"total", number(f.total)}});
  }
  return out;
}

Json names(const auto& some) {
  Json out = Json::array();
  for (const auto& s : some) out.push_back(s.name);
  return out;
}

Json flame(const StacksResult& r) {
  const FlameGraph& f = r.flame;
  return {{"labels", f.labels},
          {"label", f.label},
          {"parent", f.parent},
          {"self", column(f.self)},
          {"total", column(f.total)},
          {"before", f.before.empty() ? Json(nullptr) : column(f.before)},
          {"phase", f.phase},
          {"pass", f.pass},
          {"phases", names(r.rules.phases)},
          {"passes", names(r.rules.passes)},
          {"left_out", f.left_out}};
}

Json bottom_up_of(const StacksResult& r) {
  constexpr std::uint32_t depth = 40;
  const CallTree tree = bottom_up(r.profile, depth, 1e-4);
  Json label = Json::array();
  for (const StringId frame : tree.frame)
    label.push_back(frame == empty_string ? "all" : frame_words(r.profile, r.phases, frame));
  return {{"label", std::move(label)}, {"parent", tree.parent}, {"total", column(tree.total)}};
}

}  // namespace

Json stacks_trace_json(const StacksResult& r) {
  if (!r.trace) return nullptr;
  Json profiles = Json::array();
  for (const ProfileBesideTrace& p : r.trace->profiles) profiles.push_back(profile_json(r, p));
  return {{"inputs", inputs_json(r.trace->inputs)},
          {"step_mean_ns", r.trace->job.steps.summary
                               ? Json(std::llround(r.trace->job.steps.summary->mean))
                               : Json(nullptr)},
          {"profiles", std::move(profiles)},
          {"findings", findings_json(r.trace->findings, r.trace->job)}};
}

Json stacks_tree(const StacksResult& r) {
  const Profile& p = r.profile;
  Json before = nullptr;
  if (r.before)
    before = {{"inputs", inputs(r.before->profile)},
              {"weight", number(r.before->summary.weight)},
              {"busy", number(r.before->summary.busy)}};
  return {{"schema", "stepscope.stacks/1"},
          {"version", version()},
          {"answer", {{"sentence", say_stopped(stacks_sentence(r))}}},
          {"unit", name_of(weight_unit_names, p.unit)},
          {"weight", number(r.summary.weight)},
          {"busy", number(r.summary.busy)},
          {"idle", number(r.summary.idle)},
          {"hidden", number(r.summary.hidden)},
          {"inputs", inputs(p)},
          {"against", std::move(before)},
          {"threads", threads(r)},
          {"phases", phases(r)},
          {"functions", functions(r)},
          {"flame", flame(r)},
          {"bottom_up", bottom_up_of(r)},
          {"trace", stacks_trace_json(r)},
          {"lasti", text_or_null(r.lasti)},
          {"terms", terms_json({"budget", "phase_kind"})},
          {"warnings", say_all(r.warnings)}};
}

std::vector<TreeTable> stacks_tables(const Json& tree) {
  Json rows = Json::array();
  for (const Json& t : tree["threads"])
    for (const Json& p : t["phases"])
      rows.push_back({{"thread", t["name"]},
                      {"process", t["process"]},
                      {"input", t["input"]},
                      {"pass", p["pass"]},
                      {"phase", p["phase"]},
                      {"weight", p["weight"]}});
  return {table_of("threads", rows), table_of("phases", tree["phases"]),
          table_of("functions", tree["functions"])};
}

}  // namespace stepscope

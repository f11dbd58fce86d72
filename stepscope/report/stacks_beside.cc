// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/stacks_beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepscope/diagnose/labels.h"
#include "stepscope/report/account.h"
#include "stepscope/report/findings_report.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/stack_words.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

constexpr std::size_t shown_joined_threads = 3;
constexpr std::size_t shown_phases = 6;
constexpr double least_shown = 0.02;  // of a thread's samples within the steps
constexpr double hardly_idle = 0.1;
constexpr double mostly_idle = 0.5;

using Categories = std::array<double, budget_category_count>;

const RankResult& rank_of(const StacksResult& r, const ProfileBesideTrace& p) {
  return r.trace->job.ranks[p.rank];
}

// "device", or what stands for it in a trace without one.
std::string_view device_word(const RankResult& rank) {
  return rank.device == "cpu" ? "main thread" : "device";
}

Categories categories_of(const Budget& budget) {
  Categories out{};
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = static_cast<double>(budget.time[c].count());
  return out;
}

double between(const Categories& c, BudgetCategory first, BudgetCategory last) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i)
    sum += c[i];
  return sum;
}

// Computing, only communicating, only copying, idle.
std::array<double, 4> groups(const Categories& c) {
  using enum BudgetCategory;
  return {between(c, compute, comm_overlapped), between(c, comm_exposed_wait, comm_exposed_unsplit),
          between(c, copy_exposed, copy_exposed), between(c, idle_data, idle_unexplained)};
}

std::string share_text(double part, double whole) {
  return whole > 0 && part > 0 ? format_percent(part / whole) : "-";
}

std::vector<std::string> row_of(const StacksResult& r, std::string thread, std::string phase,
                                double weight, const Categories& device, double outside) {
  double inside = 0;
  for (const double d : device) inside += d;
  std::vector<std::string> row = {std::move(thread), std::move(phase),
                                  weight > 0 ? format_weight(weight, r.profile.unit) : "-"};
  for (const double g : groups(device)) row.push_back(share_text(g, inside));
  row.push_back(share_text(outside, inside + outside));
  return row;
}

std::string phase_words(const StacksResult& r, const JoinedPhase& p) {
  const HostPhase& phase = r.rules.phases[p.phase];
  if (p.pass == r.rules.other_pass) return phase.label;
  return fmt::format("{} · {}", r.rules.passes[p.pass].label, phase.label);
}

bool idles(const StacksResult& r, const JoinedPhase& p) {
  const PhaseKind kind = r.rules.phases[p.phase].kind;
  return kind == PhaseKind::idle || kind == PhaseKind::hidden;
}

double busy_inside(const StacksResult& r, const JoinedThread& t) {
  double sum = 0;
  for (const JoinedPhase& p : t.phases)
    if (!idles(r, p)) sum += p.meanwhile.inside();
  return sum;
}

// Those with most to do within the steps first.
std::vector<const JoinedThread*> busiest(const StacksResult& r, const StackJoin& join) {
  std::vector<const JoinedThread*> out;
  for (const JoinedThread& t : join.threads)
    if (busy_inside(r, t) > 0) out.push_back(&t);
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [&](const JoinedThread* t) { return busy_inside(r, *t); });
  return out;
}

std::string steps_in_words(const RankResult& rank) {
  if (rank.steps.empty()) return "no step";
  if (rank.steps.front().name == "window") return "its whole window";
  const std::int64_t first = rank.steps.front().index;
  const std::int64_t last = rank.steps.back().index;
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string joined_table(const StacksResult& r, const ProfileBesideTrace& p, std::size_t width) {
  std::vector<Column> columns = {{"thread", false, 24},
                                 {"while in", false, 40},
                                 {"weight"},
                                 {"computing"},
                                 {"communicating"},
                                 {"copying"},
                                 {"idle"},
                                 {"outside"}};
  std::vector<std::vector<std::string>> rows;
  std::size_t threads = 0;
  for (const JoinedThread* t : busiest(r, *p.join)) {
    if (threads++ == shown_joined_threads) break;
    std::string name = thread_label(r.profile, t->thread);
    std::size_t listed = 0;
    for (const JoinedPhase& phase : t->phases) {
      if (idles(r, phase) || phase.meanwhile.inside() < least_shown * t->meanwhile.inside() ||
          listed == shown_phases)
        continue;
      rows.push_back(row_of(r, listed++ == 0 ? name : "", phase_words(r, phase), phase.weight,
                            phase.meanwhile.device, phase.meanwhile.outside));
    }
  }
  rows.push_back(
      row_of(r, "", "all of the steps", 0, categories_of(rank_of(r, p).budget.total), 0));
  return text_table(std::move(columns), std::move(rows), width);
}

std::string budget_sentence(const StacksResult& r, const ProfileBesideTrace& p) {
  const RankResult& rank = rank_of(r, p);
  const Categories all = categories_of(rank.budget.total);
  const auto [computing, communicating, copying, idle] = groups(all);
  const double whole = computing + communicating + copying + idle;
  if (whole <= 0) return "The trace has no step.";
  std::string out = fmt::format(
      "The {} of rank {} in {}: computing {}, only communicating {}, "
      "only copying {}, idle {}",
      device_word(rank), rank.rank, steps_in_words(rank), format_percent(computing / whole),
      format_percent(communicating / whole), format_percent(copying / whole),
      format_percent(idle / whole));
  std::size_t most = static_cast<std::size_t>(BudgetCategory::idle_data);
  for (std::size_t c = most; c < all.size(); ++c)
    if (all[c] > all[most]) most = c;
  if (all[most] > 0)
    out += fmt::format(" (mostly: {})",
                       words_of(static_cast<BudgetCategory>(most), rank.device == "cpu"));
  return out + '.';
}

std::string name_of_input(const StacksResult& r, const ProfileBesideTrace& p) {
  const std::string& path = r.profile.inputs[p.input].path;
  return printable(path.substr(path.rfind('/') + 1));
}

std::string sentence_of(const StacksResult& r, const ProfileBesideTrace& p) {
  if (!p.join) return {};
  const RankResult& rank = rank_of(r, p);
  for (const JoinedThread* t : busiest(r, *p.join)) {
    const JoinedPhase* most = nullptr;
    for (const JoinedPhase& phase : t->phases) {
      const PhaseKind kind = r.rules.phases[phase.phase].kind;
      if (kind == PhaseKind::work || kind == PhaseKind::submit || idles(r, phase) ||
          phase.meanwhile.inside() < 0.05 * t->meanwhile.inside())
        continue;
      most = &phase;
      break;
    }
    if (most == nullptr) continue;
    const double idle = most->meanwhile.idle() / most->meanwhile.inside();
    std::string out = fmt::format(
        "While {} is in {} the {} is idle for {} of it", thread_label(r.profile, t->thread),
        r.rules.phases[most->phase].label, device_word(rank), format_percent(idle));
    if (idle <= hardly_idle) out += ", so standing there costs little";
    if (idle >= mostly_idle) out += ", so that time is lost to it as well";
    return out + '.';
  }
  return {};
}

std::vector<Finding> findings_of(const StacksResult& r) {
  return stack_findings(r.profile, r.rules, r.trace->job, r.trace->profiles);
}

Json weights_json(const Categories& device) {
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
  const Ns origin = r.trace->job.origin;
  const bool steps = !rank.steps.empty();
  Json budget = Json::object();
  for (std::size_t c = 0; c < budget_category_count; ++c)
    budget[std::string(budget_category_names[c])] = value(rank.budget.total.time[c]);
  return {{"input", p.input},
          {"rank", rank.rank},
          {"device", rank.device},
          {"joined", p.join.has_value()},
          {"not_joined", text_or_null(p.why_not)},
          {"offset_ns", value(p.offset)},
          {"start_ns", p.join ? value(p.join->first - origin) : Json(nullptr)},
          {"end_ns", p.join ? value(p.join->last - origin) : Json(nullptr)},
          {"first_step", steps ? Json(rank.steps.front().index) : Json(nullptr)},
          {"last_step", steps ? Json(rank.steps.back().index) : Json(nullptr)},
          {"steps", rank.steps.size()},
          {"budget_ns", std::move(budget)},
          {"threads", p.join ? threads_json(r, *p.join) : Json::array()}};
}

}  // namespace

std::string stacks_trace_sentence(const StacksResult& r) {
  if (!r.trace) return {};
  for (const ProfileBesideTrace& p : r.trace->profiles)
    if (std::string out = sentence_of(r, p); !out.empty()) return out;
  return {};
}

std::string stacks_trace_text(const StacksResult& r, std::size_t width) {
  std::string out;
  for (const ProfileBesideTrace& p : r.trace->profiles) {
    const RankResult& rank = rank_of(r, p);
    const std::string name =
        r.profile.inputs.size() > 1 ? name_of_input(r, p) : std::string("the profile");
    if (!out.empty()) out += '\n';
    if (!p.join) {
      out += wrapped(fmt::format("Beside the trace, not joined in time: {}.", p.why_not), width);
      out += wrapped(budget_sentence(r, p), width);
      continue;
    }
    out += wrapped(fmt::format("What the {} of rank {} did in {} while the threads of {} were in "
                               "their phases (joined by {}):",
                               device_word(rank), rank.rank, steps_in_words(rank), name,
                               p.offset ? "--offset" : "the clock of both"),
                   width);
    out += joined_table(r, p, width);
  }
  if (const std::vector<Finding> findings = findings_of(r); !findings.empty())
    out += '\n' + findings_text(findings, r.trace->job, width);
  return out;
}

Json stacks_trace_json(const StacksResult& r) {
  if (!r.trace) return nullptr;
  Json profiles = Json::array();
  for (const ProfileBesideTrace& p : r.trace->profiles) profiles.push_back(profile_json(r, p));
  return {{"inputs", inputs_json(r.trace->inputs)},
          {"step_mean_ns", r.trace->job.step_summary
                               ? Json(std::llround(r.trace->job.step_summary->mean))
                               : Json(nullptr)},
          {"profiles", std::move(profiles)},
          {"findings", findings_json(findings_of(r), r.trace->job.origin)}};
}

}  // namespace stepscope

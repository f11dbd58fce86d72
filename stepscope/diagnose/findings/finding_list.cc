// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/findings/finding_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"

namespace stepscope {

Ns FindingList::step() const {
  const auto& e = job().explanation;
  if (e && !e->refused && e->step > Ns{0}) return e->step;  // the gains are parts of it
  const auto& summary = job().steps.summary;
  return summary ? Ns{std::llround(summary->mean)} : Ns{0};
}

double FindingList::share(Ns time) const {
  const Ns whole = step();
  return whole <= Ns{0} ? 0
                        : static_cast<double>(time.count()) / static_cast<double>(whole.count());
}

bool FindingList::pytorch() const {
  return std::ranges::any_of(job().ranks, [](const RankResult& r) { return r.recording.pytorch; });
}

bool FindingList::trains() const {
  bool forward = false;
  for (const RankResult& r : job().ranks) {
    const StepPhases& time = r.phases.total;
    if (time[Phase::backward] + time[Phase::optimizer] > Ns{0}) return true;
    forward = forward || r.recording.of(Category::cpu_op) > 0 || time[Phase::forward] > Ns{0};
  }
  return !forward;
}

const WhatIf* FindingList::what_if(std::string_view name) const {
  if (!job().explanation) return nullptr;
  for (const WhatIf& w : job().explanation->what_ifs)
    if (name_of(w.scenario) == name) return &w;
  return nullptr;
}

Ns FindingList::on_path(std::string_view label) const {
  if (!job().explanation || job().explanation->path.steps == 0) return Ns{0};
  const CriticalPath& path = job().explanation->path;
  Ns sum{};
  for (const PathShare& s : path.shares)
    if (s.label == label) sum += s.time;
  return sum / static_cast<std::int64_t>(path.steps);
}

std::optional<FindingPlace> FindingList::place_on_path(std::string_view label) const {
  if (!job().explanation) return std::nullopt;
  for (const PathPiece& p : job().explanation->path.longest)
    if (p.label == label) return FindingPlace{p.rank, p.start, p.time};
  return std::nullopt;
}

void FindingList::add_replayed(Finding finding, const WhatIf* scenario) {
  if (scenario == nullptr || share(scenario->saved) < threshold::least_gain) return;
  if (scenario->beside_fault && 2 * *scenario->beside_fault < scenario->saved &&
      replay_tells(job()) && !findings_.empty() && findings_.front().sort == FindingSort::fault)
    finding.under = findings_.front().key;
  finding.gain = scenario->saved;
  finding.change = name_of(scenario->scenario);
  finding.confidence =
      replay_confidence(*job().explanation) == Confidence::low ? Confidence::low : Confidence::high;
  add(std::move(finding));
}

void FindingList::add_bounded(Finding finding, Ns gain, Message how) {
  if (share(gain) < threshold::least_gain) return;
  finding.gain = gain;
  finding.bounded_by = std::move(how);
  add(std::move(finding));
}

void FindingList::add(Finding finding) {
  if (!lacks(facts_, needs_of(finding.id))) findings_.push_back(std::move(finding));
}

bool FindingList::has_fault(std::string_view id) const {
  return std::ranges::any_of(
      findings_, [&](const Finding& f) { return f.id == id && f.sort == FindingSort::fault; });
}

namespace {

void give_keys(std::vector<Finding>& findings) {
  std::map<std::string, int> taken;
  for (Finding& f : findings) {
    if (f.key.empty()) f.key = f.id;
    if (const int before = taken[f.key]++; before > 0) f.key += fmt::format("#{}", before + 1);
  }
}

// The most important finding that gives the cause of `f` and explains enough of it.
const Finding* reason_of(const Finding& f, const std::vector<Finding>& findings) {
  for (const Finding& reason : findings)
    if (&reason != &f && std::ranges::find(f.reasons, reason.id) != f.reasons.end() && f.gain &&
        reason.gain && 2 * *reason.gain >= *f.gain)
      return &reason;
  return nullptr;
}

// One level deep: a reason that is itself under another finding passes its own on.
void put_under(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    if (const Finding* reason = reason_of(f, findings); f.under.empty() && reason != nullptr)
      if (const std::string& above = reason->under.empty() ? reason->key : reason->under;
          above != f.key)
        f.under = above;
  std::map<std::string, std::string> under;
  for (const Finding& f : findings)
    if (!f.under.empty()) under[f.key] = f.under;
  for (Finding& f : findings)
    if (const auto above = under.find(f.under); above != under.end())
      f.under = above->second == f.key ? std::string() : above->second;
  // Deeper chains stand on their own: every finding is listed.
  std::set<std::string> top;
  for (const Finding& f : findings)
    if (f.under.empty()) top.insert(f.key);
  for (Finding& f : findings)
    if (!f.under.empty() && !top.contains(f.under)) f.under.clear();
}

}  // namespace

std::vector<Finding> FindingList::take() {
  std::ranges::stable_sort(findings_, std::ranges::greater{}, [](const Finding& f) {
    const Ns gain = f.gain.value_or(Ns{-1});
    return std::tuple(!costs_no_time(f), f.sort != FindingSort::bound,
                      f.confidence == Confidence::high ? gain : gain / 2);
  });
  give_keys(findings_);
  put_under(findings_);
  std::vector<Finding> ordered;
  for (const Finding& f : findings_) {
    if (!f.under.empty()) continue;
    ordered.push_back(f);
    for (const Finding& g : findings_)
      if (g.under == f.key) ordered.push_back(g);
  }
  findings_.clear();
  return ordered;
}

std::vector<Finding> find_findings(const FindingContext& context) {
  FindingList list(context);
  if (context.job.ranks.empty()) return {};
  find_faults(list);
  find_communication(list);
  find_prefetch(list);
  find_algorithms(list);
  find_shapes(list);
  find_host(list);
  find_compute(list);
  find_memory_and_capture(list);
  find_lock_and_retries(list);
  find_clocks(list);
  return list.take();
}

}  // namespace stepscope

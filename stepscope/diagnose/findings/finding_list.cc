// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/findings/finding_list.h"

#include <algorithm>
#include <cmath>

#include "stepscope/diagnose/thresholds.h"

namespace stepscope {

Ns FindingList::step() const {
  const auto& e = job().explanation;
  if (e && !e->refused && e->step > Ns{0}) return e->step;  // of which the gains are
  const auto& summary = job().step_summary;
  return summary ? Ns{std::llround(summary->mean)} : Ns{0};
}

double FindingList::share(Ns time) const {
  const Ns whole = step();
  return whole <= Ns{0} ? 0
                        : static_cast<double>(time.count()) / static_cast<double>(whole.count());
}

const WhatIf* FindingList::what_if(std::string_view name) const {
  if (!job().explanation) return nullptr;
  for (const WhatIf& w : job().explanation->what_ifs)
    if (name_of(w.scenario) == name) return &w;
  return nullptr;
}

Ns FindingList::on_path(std::string_view label) const {
  if (!job().explanation) return Ns{0};
  Ns sum{};
  for (const PathShare& s : job().explanation->path.shares)
    if (s.label == label) sum += s.time;
  return sum / most_steps(job());
}

std::optional<FindingPlace> FindingList::place_on_path(std::string_view label) const {
  if (!job().explanation) return std::nullopt;
  for (const PathPiece& p : job().explanation->path.longest)
    if (p.label == label) return FindingPlace{p.rank, p.start, p.time};
  return std::nullopt;
}

void FindingList::add_replayed(Finding finding, const WhatIf* scenario) {
  if (scenario == nullptr || share(scenario->saved) < threshold::least_gain) return;
  finding.gain = scenario->saved;
  finding.gain_from = name_of(scenario->scenario);
  finding.confidence = std::abs(job().explanation->residual_share) > replay_error_refused
                           ? Confidence::low
                           : Confidence::high;
  findings_.push_back(std::move(finding));
}

void FindingList::add_bounded(Finding finding, Ns gain, std::string how) {
  if (share(gain) < threshold::least_gain) return;
  finding.gain = gain;
  finding.gain_from = std::move(how);
  findings_.push_back(std::move(finding));
}

bool is_reason(Ns reason, Ns gain, double share) {
  return static_cast<double>(reason.count()) >= share * static_cast<double>(gain.count());
}

namespace {

// List a cost after its cause if the cause explains enough of it.
void put_reasons_first(std::vector<Finding>& findings) {
  for (std::size_t i = findings.size(); i-- > 0;) {
    const Finding& f = findings[i];
    std::size_t last = i;
    for (std::size_t k = i + 1; k < findings.size(); ++k)
      if (std::ranges::find(f.reasons, findings[k].id) != f.reasons.end() && f.gain &&
          findings[k].gain && is_reason(*findings[k].gain, *f.gain, f.reason_share))
        last = k;
    const auto at = findings.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(at, at + 1, findings.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  }
}

}  // namespace

std::vector<Finding> FindingList::take() {
  std::ranges::stable_sort(findings_, std::ranges::greater{}, [](const Finding& f) {
    const Ns gain = f.gain.value_or(Ns{-1});
    return f.confidence == Confidence::high ? gain : gain / 2;
  });
  put_reasons_first(findings_);
  return std::move(findings_);
}

}  // namespace stepscope

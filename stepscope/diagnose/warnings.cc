// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/warnings.h"

#include <algorithm>
#include <map>
#include <set>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/gpu_warnings.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/fit/collective_link.h"
#include "stepscope/say/format.h"
#include "stepscope/say/import_words.h"

namespace stepscope {
namespace {

// Damage and doubt of the files, one line for each reason.
void input_warnings(const Analysis& report, Messages& out) {
  std::map<std::string, std::uint64_t> notes;
  for (const InputRow& i : report.inputs)
    for (const auto& [reason, count] : i.notes) notes[reason] += count;
  for (const auto& [reason, count] : notes)
    out.push_back(msg::plain(import_note_in_words(reason, count)));
}

// One line with every switch that would have shown more. Ranks and clocks have lines of their own.
void switch_warnings(const Analysis& report, Messages& out) {
  if (only_communication(report.job)) return;
  Messages switches;
  for (const MissingFact& m : missing_facts(report.job)) {
    const bool told = m.fact == Fact::ranks || m.fact == Fact::clocks ||
                      m.fact == Fact::device_rows ||
                      (m.fact == Fact::steps && !report.step_annotation.empty());
    if (!told && !m.record.empty()) switches.push_back(msg::switch_gives(m.record, m.gives));
  }
  if (!switches.empty())
    out.push_back(
        msg::see_more(std::move(switches), report.job.ranks.front().recording.format == "kineto"));
}

void rank_warnings(const Analysis& report, Messages& out) {
  const JobResult& job = report.job;
  const auto window = [](const RankResult& r) { return is_window(r); };
  if (!report.step_annotation.empty() && std::ranges::all_of(job.ranks, window))
    out.push_back(msg::no_annotation(report.step_annotation));
  for (Message& line : lost_rows_warnings(job)) out.push_back(std::move(line));
}

// Captures that do not begin or end together are usual; calls that contradict each other are not.
void mismatch_warnings(const JobResult& job, Messages& out) {
  std::set<int> shifted;
  std::uint64_t contradictions = 0;
  const CollectiveMismatch* first = nullptr;
  for (const CollectiveMismatch& m : job.collectives.matches.mismatches) {
    if (m.outside_capture) {
      shifted.insert(m.ranks.begin(), m.ranks.end());
      continue;
    }
    if (contradictions++ == 0) first = &m;
  }
  if (!shifted.empty())
    out.push_back(msg::captures_shifted(std::vector(shifted.begin(), shifted.end())));
  if (first != nullptr)
    out.push_back(msg::calls_contradict(contradictions, first->group, first->ordinal, first->ranks,
                                        first->what));
}

void unsure_group_warning(const JobResult& job, Messages& out) {
  std::set<int> ranks;
  std::uint64_t calls = 0;
  for (const UnsureGroup& unsure : job.collectives.matches.unsure) {
    ranks.insert(unsure.rank);
    calls += unsure.calls;
  }
  if (calls > 0) out.push_back(msg::groups_unsure(calls, std::vector(ranks.begin(), ranks.end())));
}

void job_warnings(const Analysis& report, Messages& out) {
  const JobResult& job = report.job;
  if (job.ranks.size() > 1 && !job.collectives.matches.clocks_comparable)
    out.push_back(msg::clocks_differ());
  if (report.world_size && static_cast<std::size_t>(*report.world_size) > job.ranks.size() &&
      !job.collectives.rows.empty())
    out.push_back(msg::ranks_absent(job.ranks.size(), *report.world_size));
  if (!job.missing.empty()) out.push_back(msg::steps_missing(job.missing.size()));
  mismatch_warnings(job, out);
  unsure_group_warning(job, out);
  if (Message units = unit_waits_warning(job); !units.empty()) out.push_back(std::move(units));
  if (job.pipeline)
    for (const std::string& w : job.pipeline->warnings) out.push_back(msg::plain(w));
  const auto ordered = std::ranges::find(report.inputs, "order", &InputRow::rank_source);
  if (ordered != report.inputs.end()) out.push_back(msg::ranks_by_order());
}

// A bandwidth that the links of the machine do not have.
void link_warnings(const Analysis& report, Messages& out) {
  if (!report.machine) return;
  const CollectiveRow* most = nullptr;
  double highest = most_link_share;
  for (const CollectiveRow& row : report.job.collectives.rows) {
    const auto share =
        link_share(*report.machine, row, report.job.collectives.matches.groups, report.world_size);
    if (!share || *share <= highest) continue;
    highest = *share;
    most = &row;
  }
  if (most == nullptr) return;
  out.push_back(msg::impossible_link(collective_kind_names[static_cast<std::size_t>(most->kind)],
                                     printable(most->group), Digits{highest},
                                     report.machine->name));
}

// What the MFU budget says beyond what is said already: a mismatch, an unknown peak, a coverage.
void mfu_warnings(const MfuBudget& mfu, Messages& out) {
  for (const std::string& w : mfu.warnings) {
    const bool said = w.starts_with("the traces have no shapes") ||
                      w.starts_with("pipeline_bubble is not separated") ||
                      w.ends_with("they stand for the others");
    if (!said) out.push_back(msg::plain(w));
  }
}

}  // namespace

Messages analyze_warnings(const Analysis& report, const std::optional<Error>& no_mfu) {
  Messages out;
  if (report.job.ranks.empty()) return out;
  if (!report.job.cut.empty()) out.push_back(msg::file_cut());
  input_warnings(report, out);
  rank_warnings(report, out);
  job_warnings(report, out);
  link_warnings(report, out);
  for (Message& said : gpu_log_warnings(report.job)) out.push_back(std::move(said));
  if (no_mfu) out.push_back(msg::no_mfu(no_mfu->message()));
  if (report.mfu) mfu_warnings(*report.mfu, out);
  switch_warnings(report, out);
  return out;
}

Messages replay_warnings(const JobResult& job) {
  Messages warnings;
  if (!job.explanation) return warnings;
  const Explanation& e = *job.explanation;
  if (const auto none = no_answer(job))
    warnings.push_back(msg::no_gain_stated(none->reason, none->remedy));
  else if (mispredicts(e, replay_error_warning))
    warnings.push_back(msg::rough_what_ifs(Percent{e.held_out->error}));
  if (!e.refused && std::abs(e.residual_share) > residual_doubtful)
    warnings.push_back(msg::unexplained_delay(Percent{std::abs(e.residual_share)}));
  return warnings;
}

Messages scenario_notes(std::span<const WhatIf> scenarios) {
  Messages notes;
  for (const WhatIf& w : scenarios) {
    const std::string name = name_of(w.scenario);
    if (w.nodes == 0 && w.refused.empty()) notes.push_back(msg::changes_nothing(name));
    if (w.unsplit > 0) notes.push_back(msg::range_of_unsplit(name, w.unsplit));
    if (w.doubted) notes.push_back(msg::range_of_error(name));
    for (const std::string& note : w.notes) notes.push_back(msg::note_on(name, note));
  }
  return notes;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

// Damage and doubt of the files, one line for each reason.
void input_warnings(const Analysis& report, std::vector<std::string>& out) {
  std::map<std::string, std::uint64_t> notes;
  for (const InputRow& i : report.inputs)
    for (const auto& [reason, count] : i.notes) notes[reason] += count;
  for (const auto& [reason, count] : notes) out.push_back(import_note_in_words(reason, count));
}

// One line with every switch that would have shown more. Ranks and clocks have lines of their own.
void switch_warnings(const Analysis& report, std::vector<std::string>& out) {
  if (only_communication(report.job)) return;
  std::vector<std::string> switches;
  for (const MissingFact& m : missing_facts(report.job)) {
    const bool told = m.fact == Fact::ranks || m.fact == Fact::clocks ||
                      m.fact == Fact::device_rows ||
                      (m.fact == Fact::steps && !report.step_annotation.empty());
    if (!told && !m.record.empty()) switches.push_back(fmt::format("{} ({})", m.record, m.gives));
  }
  if (!switches.empty())
    out.push_back(fmt::format("to see more, record with {}; docs/{}", fmt::join(switches, ", "),
                              report.job.ranks.front().recording.format == "kineto"
                                  ? "how-to/record-a-trace.md"
                                  : "reference/inputs.md"));
}

void rank_warnings(const Analysis& report, std::vector<std::string>& out) {
  const JobResult& job = report.job;
  const auto window = [](const RankResult& r) { return is_window(r); };
  if (!report.step_annotation.empty() && std::ranges::all_of(job.ranks, window))
    out.push_back(fmt::format(
        "no annotation \"{}\" (--step-annotation) is in the traces: the whole window is one step",
        report.step_annotation));
  for (std::string& line : lost_rows_warnings(job)) out.push_back(std::move(line));
}

// Captures that do not begin or end together are usual; calls that contradict each other are not.
void mismatch_warnings(const JobResult& job, std::vector<std::string>& out) {
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
    out.push_back(fmt::format(
        "the captures do not begin and end at the same collective: {} lack{} some of the first or "
        "last, which stay unmatched",
        ranks_in_words({shifted.begin(), shifted.end()}), shifted.size() == 1 ? "s" : ""));
  if (first == nullptr) return;
  std::string where = "group " + first->group;
  if (first->ordinal) where += fmt::format(", call {}", *first->ordinal);
  if (!first->ranks.empty()) where += ", " + ranks_in_words(first->ranks);
  out.push_back(fmt::format("{} {} not match across ranks; {}{}: {}",
                            counted(contradictions, "collective"),
                            contradictions == 1 ? "does" : "do",
                            contradictions == 1 ? "" : "the first in ", where, first->what));
}

void unsure_group_warning(const JobResult& job, std::vector<std::string>& out) {
  std::set<int> ranks;
  std::uint64_t calls = 0;
  for (const UnsureGroup& unsure : job.collectives.matches.unsure) {
    ranks.insert(unsure.rank);
    calls += unsure.calls;
  }
  if (calls > 0)
    out.push_back(fmt::format(
        "the process groups of {} of {} are not certain: these are not matched across ranks; "
        "record more steps, with record_shapes=True",
        counted(calls, "call"), ranks_in_words({ranks.begin(), ranks.end()})));
}

void job_warnings(const Analysis& report, std::vector<std::string>& out) {
  const JobResult& job = report.job;
  if (job.ranks.size() > 1 && !job.collectives.matches.clocks_comparable)
    out.emplace_back(
        "the ranks' clocks are not comparable or their windows do not overlap: collectives are not "
        "matched across ranks, so there are no waits and no skew; record the same steps on every "
        "rank with a profiler whose traces carry absolute time");
  if (report.world_size && static_cast<std::size_t>(*report.world_size) > job.ranks.size() &&
      !job.collectives.rows.empty())
    out.push_back(fmt::format(
        "the traces of {} of {} ranks are here: collectives with the others cannot be split into "
        "wait and transfer; give every rank's",
        job.ranks.size(), *report.world_size));
  if (!job.missing.empty())
    out.push_back(fmt::format(
        "{} on some rank and stay{} out of the means: record the same steps "
        "on every rank",
        job.missing.size() == 1 ? "1 step is missing"
                                : fmt::format("{} steps are missing", job.missing.size()),
        job.missing.size() == 1 ? "s" : ""));
  mismatch_warnings(job, out);
  unsure_group_warning(job, out);
  if (auto units = unit_waits_warning(job)) out.push_back(*std::move(units));
  if (job.pipeline)
    out.insert(out.end(), job.pipeline->warnings.begin(), job.pipeline->warnings.end());
  const auto ordered = std::ranges::find(report.inputs, "order", &InputRow::rank_source);
  if (ordered != report.inputs.end())
    out.emplace_back(
        "ranks are numbered in the order of the files: neither the traces nor their names say "
        "them; put the rank into the file name");
}

// A bandwidth that the links of the machine do not have.
void link_warnings(const Analysis& report, std::vector<std::string>& out) {
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
  out.push_back(fmt::format(
      "{} in group {} moves {:.3g} times what the links of {} can carry, which is impossible: the "
      "machine or the placement of the ranks is not this job's, or the recorded size is not that "
      "of one call; such shares of a link are left out (--machine FILE describes other links)",
      collective_kind_names[static_cast<std::size_t>(most->kind)], printable(most->group), highest,
      report.machine->name));
}

// What the MFU budget says beyond what is said already: a mismatch, an unknown peak, a coverage.
void mfu_warnings(const MfuBudget& mfu, std::vector<std::string>& out) {
  for (const std::string& w : mfu.warnings) {
    const bool said = w.starts_with("the traces have no shapes") ||
                      w.starts_with("pipeline_bubble is not separated") ||
                      w.ends_with("they stand for the others");
    if (!said) out.push_back(w);
  }
}

}  // namespace

std::vector<std::string> analyze_warnings(const Analysis& report,
                                          const std::optional<Error>& no_mfu) {
  std::vector<std::string> out;
  if (report.job.ranks.empty()) return out;
  if (!report.job.cut.empty())
    out.emplace_back(
        "a file is cut off: copy it again, or let the process live until the profiler has written "
        "the file; the JSON lists the byte (inputs[].cut_at) and the steps left out "
        "(job.cut_steps)");
  input_warnings(report, out);
  rank_warnings(report, out);
  job_warnings(report, out);
  link_warnings(report, out);
  for (std::string& said : gpu_log_warnings(report.job)) out.push_back(std::move(said));
  if (no_mfu) out.push_back("no MFU: " + no_mfu->message());
  if (report.mfu) mfu_warnings(*report.mfu, out);
  switch_warnings(report, out);
  return out;
}

std::vector<std::string> replay_warnings(const JobResult& job) {
  std::vector<std::string> warnings;
  if (!job.explanation) return warnings;
  const Explanation& e = *job.explanation;
  if (const auto none = no_answer(job))
    warnings.push_back(fmt::format("no gain is stated: {}{}{}", none->reason,
                                   none->remedy.empty() ? "" : "; ", none->remedy));
  else if (mispredicts(e, replay_error_warning))
    warnings.push_back(fmt::format("the replay misses held-out steps by {}: what-ifs are rough",
                                   format_percent(e.held_out->error)));
  if (!e.refused && std::abs(e.residual_share) > residual_doubtful)
    warnings.push_back(fmt::format(
        "{} of a step is delay that nothing in the traces explains; what-ifs keep it as it is",
        format_percent(std::abs(e.residual_share))));
  return warnings;
}

std::vector<std::string> scenario_notes(std::span<const WhatIf> scenarios) {
  std::vector<std::string> notes;
  for (const WhatIf& w : scenarios) {
    if (w.nodes == 0 && w.refused.empty())
      notes.push_back(name_of(w.scenario) + " changes nothing that these traces show");
    if (w.unsplit > 0)
      notes.push_back(fmt::format(
          "{}: only the range is known, because waiting and transfer of {} are one; give the "
          "traces of all ranks",
          name_of(w.scenario), counted(w.unsplit, "call")));
    if (w.doubted)
      notes.push_back(name_of(w.scenario) +
                      ": only the range is known, because the replay's error may hide the gain");
    for (const std::string& note : w.notes)
      notes.push_back(fmt::format("{}: {}", name_of(w.scenario), note));
  }
  return notes;
}

}  // namespace stepscope

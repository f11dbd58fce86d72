// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/gpu_warnings.h"
#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/fit/collective_link.h"
#include "stepscope/words/format.h"
#include "stepscope/words/import_words.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

// Damage and doubt of the files, one line for each reason.
void input_warnings(const Analysis& report, std::vector<std::string>& out) {
  std::map<std::string, std::uint64_t> notes;
  for (const InputRow& i : report.inputs)
    for (const auto& [reason, count] : i.notes) notes[reason] += count;
  for (const auto& [reason, count] : notes) out.push_back(import_note_in_words(reason, count));
}

bool only_window(const RankResult& r) { return r.steps.size() == 1 && r.steps[0].name == "window"; }

bool all_nsys(const Analysis& report) {
  const auto nsys = [](const InputRow& i) { return i.error || i.format == "nsys"; };
  return !report.inputs.empty() && std::ranges::all_of(report.inputs, nsys);
}

// The same of Nsight Systems.
void nsys_switch_warnings(const Analysis& report, std::vector<std::string>& out) {
  const JobResult& job = report.job;
  const auto all = [&](auto test) { return std::ranges::all_of(job.ranks, test); };
  std::vector<std::string> switches;
  if (all(only_window) && report.step_annotation.empty())
    switches.emplace_back("a range \"iteration N\" of NVTX around each step (steps)");
  if (all([](const RankResult& r) { return !r.has_shapes; }))
    switches.emplace_back("emit_nvtx(record_shapes=True) (operators, FLOPs, rooflines)");
  if (all([](const RankResult& r) { return r.memory.devices.empty(); }))
    switches.emplace_back("--cuda-memory-usage=true (memory)");
  if (!switches.empty())
    out.push_back(fmt::format("to see more, record with {}; docs/reference/inputs.md",
                              fmt::join(switches, ", ")));
}

// One line with every switch that would have shown more.
void switch_warnings(const Analysis& report, std::vector<std::string>& out) {
  if (all_nsys(report)) return nsys_switch_warnings(report, out);
  const JobResult& job = report.job;
  const auto all = [&](auto test) { return std::ranges::all_of(job.ranks, test); };
  if (only_communication(job)) return;
  const bool gpu = !all([](const RankResult& r) { return r.device == "cpu"; });
  std::vector<std::string> switches;
  if (all(only_window) && report.step_annotation.empty())
    switches.emplace_back("profiler.step() or --step-annotation NAME (steps)");
  if (gpu && all([](const RankResult& r) { return !r.has_launch_rows; }))
    switches.emplace_back("ProfilerActivity.CPU (why the device is idle)");
  if (all([](const RankResult& r) { return !r.has_shapes; }))
    switches.emplace_back("record_shapes=True (FLOPs, TFLOP/s, rooflines)");
  if (all([](const RankResult& r) { return r.memory.devices.empty(); }))
    switches.emplace_back("profile_memory=True (memory)");
  if (all([](const RankResult& r) { return r.device == "cuda" && !r.has_sync_rows; }))
    switches.emplace_back(
        "_ExperimentalConfig(enable_cuda_sync_events=True) (waits of one stream for another)");
  if (!switches.empty())
    out.push_back(fmt::format("to see more, record with {}; docs/how-to/record-a-trace.md",
                              fmt::join(switches, ", ")));
}

void rank_warnings(const Analysis& report, std::vector<std::string>& out) {
  const JobResult& job = report.job;
  if (!report.step_annotation.empty() && std::ranges::all_of(job.ranks, only_window))
    out.push_back(fmt::format(
        "no annotation \"{}\" (--step-annotation) is in the traces: the whole window is one step",
        report.step_annotation));
  std::vector<int> unseen;
  for (const RankResult& r : job.ranks)
    if (r.device_unseen) unseen.push_back(r.rank);
  if (!unseen.empty())
    out.push_back(fmt::format(
        "{} launched kernels but the trace has no row of the device: record with {}",
        ranks_in_words(unseen), all_nsys(report) ? "--trace=cuda" : "ProfilerActivity.CUDA"));
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

// "steps 5 and 6 of rank 0 are incomplete and left out"
std::string broken_steps(const JobResult& job) {
  std::set<std::int64_t> steps;
  std::vector<int> ranks;
  for (const CutRank& c : job.cut) {
    steps.insert(c.steps.begin(), c.steps.end());
    if (!c.steps.empty()) ranks.push_back(c.rank);
  }
  if (steps.empty() && is_window(job)) return "what was recorded before is whole";
  if (steps.empty()) return "the steps before are whole";
  return fmt::format("{} {} of {} {} incomplete and left out", steps.size() == 1 ? "step" : "steps",
                     fmt::join(steps, ", "), ranks_in_words(ranks),
                     steps.size() == 1 ? "is" : "are");
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

std::string recording_sentence(const JobResult& job) {
  std::vector<Ns> unrecorded;
  for (const RankResult& r : job.ranks)
    if (r.unrecorded_step) unrecorded.push_back(*r.unrecorded_step);
  if (unrecorded.empty() || is_window(job)) return {};
  const auto middle = unrecorded.begin() + std::ssize(unrecorded) / 2;
  std::ranges::nth_element(unrecorded, middle);
  const auto longer = static_cast<double>(step_length(job).count());
  if (longer < threshold::slowed_by_recording * static_cast<double>(middle->count())) return {};
  return fmt::format(
      "Steps before the recording took {}: recording slows the host, so its part may be "
      "overstated.",
      format_time(*middle));
}

std::string cut_sentence(std::span<const InputRow> inputs, const JobResult& job) {
  const auto cut = [](const InputRow& i) { return i.truncated && !i.error; };
  const auto files = std::ranges::count_if(inputs, cut);
  if (files == 0 || job.cut.empty()) return {};
  const InputRow& first = *std::ranges::find_if(inputs, cut);
  const std::string at = first.cut_at ? fmt::format(" at byte {}", *first.cut_at) : "";
  std::string out = files == 1 ? fmt::format("{} is cut off{}", printable(first.path), at)
                               : fmt::format("{} files are cut off, among them {}{}", files,
                                             printable(first.path), at);
  if (job.steps.empty())
    return out + ": no whole step is left, so what bounds a step is not known.";
  return out + ": " + broken_steps(job) + ".";
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

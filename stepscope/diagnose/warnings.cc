// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/warnings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "stepscope/base/ascii.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/fit/collective_link.h"
#include "stepscope/fit/rank_places.h"
#include "stepscope/say/format.h"
#include "stepscope/say/import_words.h"
#include "stepscope/say/phrases.h"

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

// Sizes that only names of ranges give, and names that contradict what was recorded.
void range_size_warnings(const JobResult& job, Messages& out) {
  std::uint64_t by_range = 0;
  OtherSizes other;
  for (const RankCalls& rank : job.collectives.matches.ranks) {
    by_range += static_cast<std::uint64_t>(
        std::ranges::count_if(rank.calls, &CollectiveCall::bytes_by_range));
    const std::uint64_t calls = other.calls + rank.other_sizes.calls;
    if (other.calls == 0) other = rank.other_sizes;
    other.calls = calls;
  }
  if (by_range > 0) out.push_back(msg::sizes_by_range(by_range));
  if (other.calls > 0)
    out.push_back(
        msg::sizes_differ_from_ranges(other.calls, printable(other.range), other.recorded));
}

// Messages pass between stages, and still nothing is known of what the stages idle.
Message no_bubble_warning(const JobResult& job) {
  const CollectiveMatches& matches = job.collectives.matches;
  bool any = false;
  bool in_steps = false;
  for (const RankCalls& rank : matches.ranks)
    for (const CollectiveCall& call : rank.calls) {
      if (!is_stage_message(call, job.collectives.dimension_of)) continue;
      any = true;
      in_steps = in_steps || call.step;
      if (call.step && call.edge_count > 0) return msg::no_bubble(msg::messages_without_compute());
    }
  if (!any) return {};
  return msg::no_bubble(in_steps ? msg::messages_without_peers() : msg::messages_outside_steps());
}

void job_warnings(const Analysis& report, Messages& out) {
  const JobResult& job = report.job;
  if (job.ranks.size() > 1 && !job.collectives.matches.clocks_comparable)
    out.push_back(msg::clocks_differ());
  if (report.world_size && static_cast<std::size_t>(*report.world_size) > job.ranks.size() &&
      !job.collectives.rows.empty())
    out.push_back(msg::ranks_absent(job.ranks.size(), *report.world_size, leave_ranks_out(job)));
  if (!job.steps.missing.empty()) out.push_back(msg::steps_missing(job.steps.missing.size()));
  mismatch_warnings(job, out);
  unsure_group_warning(job, out);
  range_size_warnings(job, out);
  if (Message units = unit_waits_warning(job.units, job.collectives); !units.empty())
    out.push_back(std::move(units));
  if (job.pipeline)
    append(out, job.pipeline->warnings);
  else if (Message none = no_bubble_warning(job); !none.empty())
    out.push_back(std::move(none));
  const auto ordered = std::ranges::find(report.inputs, "order", &InputRow::rank_source);
  if (ordered != report.inputs.end()) out.push_back(msg::ranks_by_order());
}

// A bandwidth that the links of the machine do not have.
void impossible_link_warning(const Analysis& report, Messages& out) {
  const CollectiveRow* most = nullptr;
  double highest = most_link_share;
  for (const CollectiveRow& row : report.job.collectives.rows) {
    const auto share =
        link_share(*report.machine, row, report.job.collectives.matches, report.world_size);
    if (!share || *share <= highest) continue;
    highest = *share;
    most = &row;
  }
  if (most == nullptr) return;
  out.push_back(msg::impossible_link(collective_kind_names[static_cast<std::size_t>(most->kind)],
                                     printable(most->group), Digits{highest},
                                     report.machine->name));
}

// Shares of a link that rest on where the ranks may be.
void assumed_link_warning(const Analysis& report, Messages& out) {
  const ScaleUp& up = *report.machine->scale_up;
  for (const CollectiveRow& row : report.job.collectives.rows) {
    if (!row.busbw) continue;
    const auto places =
        places_of(row, report.job.collectives.matches, *up.domain, report.world_size);
    if (!places || !places->assumed) continue;
    out.push_back(
        msg::hosts_assumed(printable(row.group), up.name, *up.domain, report.machine->name));
    return;
  }
}

void link_warnings(const Analysis& report, Messages& out) {
  if (!report.machine || !report.machine->scale_up || !report.machine->scale_up->domain) return;
  impossible_link_warning(report, out);
  assumed_link_warning(report, out);
}

// What the MFU budget says beyond what is said already: a mismatch, an unknown peak, a coverage.
void mfu_warnings(const MfuBudget& mfu, Messages& out) {
  using enum MessageKind;
  for (const Message& w : mfu.warnings)
    if (w.kind != mfu_without_shapes && w.kind != mfu_bubble_unknown && w.kind != mfu_of_some_ranks)
      out.push_back(w);
}

}  // namespace

Messages analyze_warnings(const Analysis& report, const std::optional<Error>& no_mfu) {
  Messages out;
  if (report.job.ranks.empty()) return out;
  if (!report.job.steps.cut.empty()) out.push_back(msg::file_cut());
  input_warnings(report, out);
  rank_warnings(report, out);
  job_warnings(report, out);
  link_warnings(report, out);
  for (Message& said : gpu_log_warnings(report.job.gpus, report.job.ranks))
    out.push_back(std::move(said));
  if (no_mfu) out.push_back(msg::no_mfu(msg::plain(no_mfu->message())));
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
    for (const Message& note : w.notes) notes.push_back(msg::note_on(name, note));
  }
  return notes;
}

namespace {

void arm_warnings(const char* letter, const ComparedArm& arm, Messages& out) {
  for (const ComparedLaunch& l : arm.launches) {
    if (!l.changes.empty()) {
      const ChangePoint& c = l.changes.back();
      out.push_back(msg::level_changes(letter, l.name, Nanoseconds(c.after), c.at + 1,
                                       Nanoseconds(c.before), c.at));
    }
    if (l.unsettled) out.push_back(msg::no_end_of_warm_up(letter, l.name));
  }
  if (arm.steps == 1) out.push_back(msg::one_step_only(letter));
  if (arm.steps > 1 && arm.stdev_ns && *arm.stdev_ns == 0) out.push_back(msg::equal_steps(letter));
}

}  // namespace

Messages compare_warnings(const RunComparison& runs) {
  Messages out;
  arm_warnings("A", runs.a, out);
  arm_warnings("B", runs.b, out);
  const auto single = [](const ComparedArm& arm) { return arm.launches.size() < 2; };
  if (single(runs.a) || single(runs.b)) out.push_back(msg::single_launch());
  if (runs.drift && runs.drift->p < 0.05)
    out.push_back(msg::launches_drift(format_signed_percent(std::expm1(runs.drift->slope)),
                                      Digits{runs.drift->p},
                                      format_signed_percent(std::expm1(runs.drift->bias))));
  return out;
}

Messages log_warnings(const LogFacts& r) {
  Messages out;
  const auto notes = [&](const char* key, MessageMaker<1> cut) {
    const auto found = r.log.notes.find(key);
    if (found != r.log.notes.end()) out.push_back(cut(found->second));
  };
  notes("records_cut", msg::step_lines_cut);
  notes("comm_lines_cut", msg::comm_lines_cut);
  if (r.steps.left_out > 0) out.push_back(msg::records_without_time(r.steps.left_out));
  if (r.account.drift && r.account.drift->last > r.account.drift->first)
    out.push_back(msg::step_becomes_longer(Digits{percent_longer(*r.account.drift)}));
  if (r.log.truncated) out.push_back(msg::end_damaged());
  return out;
}

namespace {

constexpr std::size_t most_log_warnings = 4;

void log_problems(const GpuEvidence& gpus, Messages& out) {
  std::size_t silent = 0;
  for (const GpuLogResult& log : gpus.logs) {
    if (log.use.problem.empty()) continue;
    if (++silent > most_log_warnings) continue;
    out.push_back(msg::log_tells_of(log.path, log.ranks, log.use.problem));
  }
  if (silent > most_log_warnings) out.push_back(msg::more_logs(silent - most_log_warnings));
}

void unused_rows(const GpuEvidence& gpus, Messages& out) {
  for (const GpuLogResult& log : gpus.logs)
    for (const auto& [reason, count] : log.notes.counts) {
      const auto byte = log.notes.first_byte.find(reason);
      out.push_back(
          msg::rows_not_used(count, log.path, reason,
                             byte == log.notes.first_byte.end() ? Value() : Value(byte->second)));
    }
}

// Ranks that no log covers, though logs cover others; and ranks whose readings are too far apart.
void ranks_without(const GpuEvidence& gpus, std::span<const RankResult> ranks, Messages& out) {
  std::vector<int> missing;
  std::vector<int> sparse;
  for (const RankResult& r : ranks) {
    const auto at = std::ranges::find(gpus.ranks, r.rank, &GpuOfRank::rank);
    if (at == gpus.ranks.end())
      missing.push_back(r.rank);
    else if (!at->whole.tells())
      sparse.push_back(r.rank);
  }
  if (!missing.empty() && missing.size() < ranks.size()) out.push_back(msg::no_log_of(missing));
  if (!sparse.empty()) out.push_back(msg::sparse_readings(sparse));
}

}  // namespace

Messages gpu_log_warnings(const std::optional<GpuEvidence>& gpus,
                          std::span<const RankResult> ranks) {
  Messages out;
  if (!gpus) return out;
  log_problems(*gpus, out);
  unused_rows(*gpus, out);
  ranks_without(*gpus, ranks, out);
  return out;
}

namespace {

// Watchdogs without group names whose calls are too far apart for one group.
void calls_apart(const CommRecords& records, Messages& out) {
  std::set<int> ranks;
  std::set<std::uint32_t> groups;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = -1;
  for (const WatchdogTimeout& t : records.timeouts) {
    if (!records.groups[t.group].guessed || t.sequence < 0) continue;
    groups.insert(t.group);
    if (const auto number = records.ranks[t.rank].number) ranks.insert(*number);
    least = std::min(least, t.sequence);
    most = std::max(most, t.sequence);
  }
  if (groups.size() > 1)
    out.push_back(msg::calls_far_apart(std::vector<int>(ranks.begin(), ranks.end()),
                                       format_whole(most - least)));
}

}  // namespace

namespace {

// Whether a SIGKILL is the first error, and no line names its sender.
bool killed_by_nobody(const Incident& incident, const IncidentAccount& account) {
  if (!account.cause) return false;
  const IncidentEvent& e = incident.events[account.rows[*account.cause].event];
  const bool killed =
      e.kind == IncidentKind::exit
          ? e.code == 128 + 9
          : (e.kind == IncidentKind::signal || e.kind == IncidentKind::exception) && e.code == 9;
  return killed && std::ranges::none_of(incident.events, [](const IncidentEvent& other) {
           return other.kind == IncidentKind::host_memory;
         });
}

// Whether the first error is that shared memory ran out, or one that mostly has this reason: a bus
// error in a worker of a DataLoader.
bool wants_shared_memory(const Incident& incident, const IncidentAccount& account) {
  if (!account.cause) return false;
  const IncidentEvent& e = incident.events[account.rows[*account.cause].event];
  if (e.kind == IncidentKind::shared_memory) return !contains(e.text, "Permission denied");
  return e.code == 7 && contains_any(e.text, {"DataLoader worker", "in worker", "shared memory"});
}

}  // namespace

Messages hang_warnings(const CommRecords& records, const HangAccount& account,
                       const IncidentAccount& incident) {
  Messages out;
  if (killed_by_nobody(records.incident, incident)) out.push_back(msg::kill_without_sender());
  if (wants_shared_memory(records.incident, incident)) out.push_back(msg::shared_memory_small());
  const bool log_finding = std::ranges::any_of(
      account.findings, [&](const HangFinding& f) { return records.groups[f.group].from_log; });
  if (log_finding) out.push_back(msg::log_without_ends());
  const bool logged =
      std::ranges::any_of(records.groups, [](const RecordedGroup& g) { return g.from_log; });
  const bool called = std::ranges::any_of(records.sequences, [&](const CommSequence& q) {
    return records.groups[q.group].from_log && !(q.collectives.empty() && q.pairs.empty());
  });
  const bool found = !account.findings.empty() || !records.incident.events.empty();
  if (logged && !called && !found) out.push_back(msg::logs_without_calls());
  std::size_t assumed = 0;
  for (const HangGroup& g : account.groups) {
    const RecordedGroup& group = records.groups[g.group];
    // For watchdogs the findings say it themselves.
    const bool told = group.members_recorded || group.from_log || group.unnamed;
    if (!told && group.places.empty() && g.recorded > 0) ++assumed;
  }
  calls_apart(records, out);
  if (std::ranges::any_of(account.findings, &HangFinding::of_group))
    out.push_back(msg::ranks_within_group());
  if (!records.ras_counts.empty()) out.push_back(msg::ras_is_a_moment());
  if (assumed > 0) out.push_back(msg::members_assumed(assumed));
  for (const CommInput& input : records.inputs) {
    const std::string name = printable(input.path.substr(input.path.rfind('/') + 1));
    if (input.truncated) out.push_back(msg::ends_too_early(name));
    for (const auto& [reason, count] : input.notes) {
      if (reason == "other_lines_of_nccl") continue;  // in the JSON
      out.push_back(msg::counted_reason(name, spaced(reason), count));
    }
  }
  return out;
}

}  // namespace stepscope

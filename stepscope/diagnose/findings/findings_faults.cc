// SPDX-License-Identifier: Apache-2.0
// Faults that the replay found, with what shows them and what to do.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/given_work.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_blamed = 2;

bool is_amd(const RankResult* r) {
  return r != nullptr &&
         (r->device.name.find("AMD") != std::string::npos ||
          r->device.name.find("Instinct") != std::string::npos || r->device.name.starts_with("MI"));
}

std::string_view clocks_command(const RankResult* r) {
  return is_amd(r) ? "rocm-smi --showclocks --showpower --showtemp"
                   : "nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE";
}

// A fault of one rank shows in three of four steps (late_decision.h). The first step does not
// count. With enough of the others it persists.
Message advice_if_it_stays(Message now, const Culprit& c, const RankResult* r) {
  const bool persists =
      c.ranks.size() == 1 && r != nullptr && r->steps.size() > threshold::enough_steps;
  return persists ? msg::else_leave_out(std::move(now)) : now;
}

Message advice_for(const Culprit& c, const JobResult& job) {
  const RankResult* r =
      c.ranks.empty() ? &job.ranks.front() : find_rank(job.ranks, c.ranks.front());
  const bool cpu = r != nullptr && r->device.is_cpu();
  const bool pytorch = r != nullptr && r->recording.pytorch;
  if (c.clock && !cpu) return advice_for_clock(*c.clock);
  switch (c.kind) {
    case CulpritKind::slow_rank:
      if (c.more_work) return msg::balance_tokens();
      return advice_if_it_stays(cpu ? msg::compare_cores(c.work.has_value())
                                    : msg::compare_gpus(clocks_command(r), c.work.has_value()),
                                c, r);
    case CulpritKind::throttling:
      return cpu ? msg::look_at_cores() : msg::look_at_gpu(clocks_command(r));
    case CulpritKind::late_host:
      return advice_if_it_stays(msg::look_at_process(), c, r);
    case CulpritKind::data_loader:
      return c.ranks.empty() || c.peers_alike ? msg::speed_up_loaders()
                                              : msg::speed_up_its_loader();
    case CulpritKind::pauses:
      return msg::collect_together(pytorch);
    case CulpritKind::outlier_step:
      return msg::see_outlier_step();
    case CulpritKind::slow_group:
      return msg::measure_links(is_amd(r) ? "rccl-tests" : "nccl-tests");
    case CulpritKind::stage_imbalance:
      return msg::move_layers();
    case CulpritKind::sync_calls:
      return cpu ? msg::wait_where_used() : msg::remove_syncs(pytorch);
    case CulpritKind::unseen_host:
      return msg::record_stacks(pytorch);
    case CulpritKind::uneven_compute:
      return msg::see_uneven_compute(!pytorch || std::ranges::all_of(job.ranks, knows_work), cpu);
    default:
      return {};
  }
}

// Who waits for the rank's work, summed over ranks and steps.
void add_blame(const JobResult& job, int rank, Finding& f) {
  std::size_t listed = 0;
  for (const Blame& b : job.explanation->blame) {
    if (b.rank != rank || !b.excess || listed == most_blamed) continue;
    ++listed;
    f.evidence.push_back(msg::all_wait_for(b.wait, b.label, b.name));
    if (!f.place) f.place = FindingPlace{rank, b.worst_at - b.worst, b.worst};
  }
}

void add_early_waits(const JobResult& job, Finding& f) {
  const std::vector<EarlyWaitSum>& sums = job.explanation->early_waits;
  for (const EarlyWaitSum& s : sums) {
    if (f.evidence.size() == 3) break;
    f.evidence.push_back(msg::stands_still(s.rank, s.count, s.collectives, s.total));
  }
  if (!sums.empty())
    f.place = FindingPlace{sums.front().rank, sums.front().worst_at, sums.front().worst};
}

bool names(const Culprit& c, int rank) { return std::ranges::find(c.ranks, rank) != c.ranks.end(); }

// Steps of the ranks that the culprit names: from a step on, a single one of all ranks, or all.
std::vector<FindingPlace> steps_of(const Culprit& c, const JobResult& job) {
  std::vector<FindingPlace> places;
  for (const RankResult& r : job.ranks) {
    const bool one_step = c.kind == CulpritKind::outlier_step;
    if (!one_step && !names(c, r.rank)) continue;
    for (const Step& s : r.steps) {
      if (one_step && std::ranges::find(c.steps, s.index) == c.steps.end()) continue;
      if (c.kind == CulpritKind::throttling && s.index < c.steps.front()) continue;
      places.push_back({r.rank, s.start, s.end - s.start});
    }
  }
  return places;
}

// The longest transfer of the group in each step of each member.
std::vector<FindingPlace> transfers_of(const Culprit& c, const JobResult& job) {
  std::vector<FindingPlace> places;
  const CollectiveMatches& matches = job.collectives.matches;
  for (std::size_t v = 0; v < job.ranks.size(); ++v) {
    const RankResult& r = job.ranks[v];
    if (!names(c, r.rank)) continue;
    std::vector<std::optional<FindingPlace>> of_step(r.steps.size());
    for (const CollectiveCall& call : matches.ranks[v].calls) {
      if (call.group == no_row || matches.groups[call.group].name != *c.group) continue;
      const auto step = step_at(r.steps, call.start);
      if (!step) continue;
      auto& place = of_step[*step];
      const Ns time = call.end - call.start;
      if (!place || time > place->time) place = FindingPlace{r.rank, call.start, time};
    }
    for (const auto& place : of_step)
      if (place) places.push_back(*place);
  }
  return places;
}

std::vector<FindingPlace> places_of(const Culprit& c, const JobResult& job) {
  switch (c.kind) {
    case CulpritKind::slow_rank:
    case CulpritKind::late_host:
    case CulpritKind::data_loader:
    case CulpritKind::throttling:
    case CulpritKind::outlier_step:
    case CulpritKind::stage_imbalance:
      return steps_of(c, job);
    case CulpritKind::slow_group:
      return transfers_of(c, job);
    case CulpritKind::pauses:
      return c.places;
    default:
      return {};  // of all ranks and steps alike
  }
}

// What sets the culprit apart: "slow_rank:3", "slow_group:tp0", "outlier_step:12".
std::string key_of(const Culprit& c) {
  std::string key(culprit_kind_names[static_cast<std::size_t>(c.kind)]);
  if (c.group)
    key +=
        fmt::format(":{}{}", *c.group, c.ranks.empty() ? "" : fmt::format("@{}", c.ranks.front()));
  else if (c.stage)
    key += fmt::format(":{}", *c.stage);
  else if (c.kind == CulpritKind::outlier_step && !c.steps.empty())
    key += fmt::format(":{}", c.steps.front());
  else if (c.ranks.size() == 1)
    key += fmt::format(":{}", c.ranks.front());
  return key;
}

// The sentence about the clock, with power and temperature.
Message evidence_of(const ClockCause& c) {
  const bool heat = c.temperature_celsius && c.peers_temperature_celsius;
  const bool power = c.power_watts && c.peers_power_watts;
  return msg::clock_evidence(c.sentence, heat ? digits_of(c.temperature_celsius) : Value(),
                             digits_of(c.peers_temperature_celsius),
                             power ? digits_of(c.power_watts) : Value(),
                             digits_of(c.peers_power_watts));
}

Finding finding_of(const Culprit& c, const JobResult& job) {
  Finding f{.id = culprit_kind_names[static_cast<std::size_t>(c.kind)],
            .sort = FindingSort::fault,
            .key = key_of(c),
            .what = c.sentence,
            .places = places_of(c, job),
            .advice = advice_for(c, job),
            .gain = c.gain,
            .change = c.change,
            .confidence = c.confidence == Confidence::low ? Confidence::low : Confidence::high};
  if (c.work && !c.more_work) f.evidence.push_back(msg::work_given(Digits{*c.work}));
  if (c.clock) f.evidence.push_back(evidence_of(*c.clock));
  const bool waited_for = c.kind == CulpritKind::slow_rank || c.kind == CulpritKind::throttling ||
                          c.kind == CulpritKind::late_host || c.kind == CulpritKind::data_loader;
  if (waited_for && c.ranks.size() == 1) add_blame(job, c.ranks.front(), f);
  if (c.kind == CulpritKind::sync_calls) add_early_waits(job, f);
  if (c.kind == CulpritKind::sync_calls && f.evidence.empty()) {
    const RankResult& r = rank_with_most(job.ranks, [](auto& x) { return x.host.sync; });
    f.evidence = most_calls(r, r.host.sync_calls, msg::calls_block);
  }
  return f;
}

}  // namespace

void find_faults(FindingList& list) {
  if (!replay_tells(list.job())) return;
  for (const Culprit& c : find_culprits(list.job()))
    if (c.kind < CulpritKind::device_shared)  // the others have findings with their own evidence
      list.add(finding_of(c, list.job()));
}

}  // namespace stepscope

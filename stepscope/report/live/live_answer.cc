// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/live/live_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stepscope/report/live/live_sentence.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

constexpr double lately_s = 300;
constexpr double noticeable = 1.03;  // of a step time, against the one before a change
constexpr std::size_t most_late = 3;

std::string name_of(const LiveProcess& p) {
  std::string text = p.rank >= 0 ? fmt::format("rank {}", p.rank) : printable(p.name);
  if (p.rank >= 0 && !p.host.empty()) text += " on " + printable(p.host);
  return text;
}

std::string late_now(const LiveProcess& p) {
  std::string text = fmt::format("{} is late by {}", name_of(p), format_time(p.late_ns));
  if (p.round_ns > 0) text += fmt::format(" a step of {}", format_time(p.round_ns));
  if (p.since >= 0) text += fmt::format(" since step {}", p.since);
  if (!p.phase.empty()) text += fmt::format(", most of it in {}", live_phase_in_words(p.phase));
  return text;
}

// The last change of the step time, if it is still there.
const LiveEvent* slower_now(const JobState& job) {
  const auto recent = job.curve().recent_ns();
  if (job.step_source() == StepSource::none || !recent) return nullptr;
  for (auto e = job.events().rbegin(); e != job.events().rend(); ++e) {
    if (!e->change) continue;
    const bool still =
        e->kind == LiveEventKind::slower && *recent > noticeable * e->change->before_ns;
    return still ? &*e : nullptr;
  }
  return nullptr;
}

struct Seen {
  std::vector<const LiveProcess*> writing;  // of ranks that are not replaced
  std::vector<const LiveProcess*> late;     // the latest first
  std::vector<const LiveProcess*> silent;
  bool ranks = false;  // a source tells of single ranks
};

Seen seen_of(const JobState& job) {
  Seen seen;
  for (const LiveProcess& p : job.processes()) {
    if (p.records == 0 || p.replaced) continue;
    (p.silent ? seen.silent : seen.writing).push_back(&p);
    if (!p.late_in.empty()) seen.late.push_back(&p);
    seen.ranks |= p.rank >= 0;
  }
  std::ranges::stable_sort(seen.late, [](const LiveProcess* a, const LiveProcess* b) {
    return a->late_ns > b->late_ns;
  });
  return seen;
}

std::vector<std::string> wrong_now(const LiveView& view, const Seen& seen) {
  const JobState& job = view.job;
  std::vector<std::string> wrong;
  if (job.stands_still()) {
    double newest = 0;
    for (const LiveProcess* p : seen.silent) newest = std::max(newest, p->heard);
    for (const LiveProcess* p : seen.writing) newest = std::max(newest, p->heard);
    wrong.push_back(fmt::format(
        "no process has written anything for {}: the job has ended, hangs, or writes elsewhere",
        format_seconds(view.now - newest)));
  }
  for (auto e = job.events().rbegin(); e != job.events().rend(); ++e) {
    if (e->kind != LiveEventKind::stuck && e->kind != LiveEventKind::unresponsive) continue;
    if (view.now - e->at < lately_s) {
      wrong.push_back(
          fmt::format("{} ago: {}", format_seconds(view.now - e->at), event_in_words(*e)));
      break;
    }
  }
  for (std::size_t i = 0; i < std::min(most_late, seen.late.size()); ++i)
    wrong.push_back(late_now(*seen.late[i]));
  if (seen.late.size() > most_late)
    wrong.push_back(fmt::format("{} more {} late", seen.late.size() - most_late,
                                seen.late.size() - most_late == 1 ? "rank is" : "ranks are"));
  if (!seen.silent.empty() && !job.stands_still()) {
    std::vector<int> ranks;
    double newest = 0;
    for (const LiveProcess* p : seen.silent) {
      ranks.push_back(p->rank);
      newest = std::max(newest, p->heard);
    }
    wrong.push_back(fmt::format(
        "{} {} written nothing for {} or longer", live_ranks_in_words(ranks, ranks.size()),
        ranks.size() == 1 ? "has" : "have", format_seconds(view.now - newest)));
  }
  std::vector<const LiveCommunicator*> longer;
  for (const auto& c : job.communicators())
    if (const TransferRule* rule = c->transfers(); rule != nullptr && rule->longer())
      longer.push_back(c.get());
  if (!longer.empty()) {
    const auto more = [](const LiveCommunicator* c) {
      return c->transfers()->now_ns() - c->transfers()->before_ns();
    };
    const LiveCommunicator& most = **std::ranges::max_element(longer, {}, more);
    wrong.push_back(fmt::format("transfers in communicator {} take {} instead of {} a step",
                                printable(most.name().empty() ? most.id() : most.name()),
                                format_time(most.transfers()->now_ns()),
                                format_time(most.transfers()->before_ns())));
    if (longer.size() > 1)
      wrong.back() += fmt::format(", and longer than before in {} other{}", longer.size() - 1,
                                  longer.size() == 2 ? "" : "s");
  }
  if (const LiveEvent* slower = slower_now(job)) {
    const StepChange& c = *slower->change;
    wrong.push_back(fmt::format("steps take {} instead of {} since step {}",
                                format_time(*job.curve().recent_ns()), format_time(c.before_ns),
                                c.step));
  }
  return wrong;
}

std::string unseen_of(const LiveView& view, const Seen& seen) {
  const JobState& job = view.job;
  const LiveCoverage c = job.coverage();
  const FollowTotals& f = view.files;
  std::vector<std::string> not_seen;
  if (!seen.ranks)
    not_seen.emplace_back("who is late, because no file tells of single ranks");
  else if (c.records == 0 && job.step_source() != StepSource::ranks &&
           job.step_source() != StepSource::engine)
    not_seen.emplace_back("who is late, because no file tells of steps or collectives of ranks");
  if (job.step_source() == StepSource::none) not_seen.emplace_back("step times");
  if (c.records == 0) not_seen.emplace_back("collectives, and so transfer apart from waiting");
  const auto lacks = [&](std::uint64_t n, const char* what) {
    if (n > 0) not_seen.push_back(fmt::format("{} {}", format_count(static_cast<double>(n)), what));
  };
  lacks(c.unrecorded, "calls without a record");
  lacks(c.dropped, "records dropped by the writer");
  lacks(c.not_gpu_timed, "collectives not timed by the GPU");
  lacks(f.lost_lines + f.orphans, "lines lost");
  lacks(f.not_understood, "lines not understood");
  lacks(f.long_lines, "lines too long");
  lacks(f.left_out, "files beyond the limit");
  if (f.skipped_bytes > 0)
    not_seen.push_back(fmt::format("the first {} of the files",
                                   format_bytes(static_cast<double>(f.skipped_bytes))));
  std::string text;
  for (const std::string& what : not_seen) text += (text.empty() ? "" : "; ") + what;
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ". ") + capitalised(part);
  return text;
}

}  // namespace

LiveAnswer live_answer(const LiveView& view) {
  const JobState& job = view.job;
  const Seen seen = seen_of(job);
  LiveAnswer answer;
  if (seen.writing.empty() && seen.silent.empty() && job.ras_statuses() == 0) {
    answer.sentence = "Nothing is known of the job yet";
    return answer;
  }
  const std::vector<std::string> wrong = wrong_now(view, seen);
  answer.fine = wrong.empty();
  answer.unseen = unseen_of(view, seen);
  if (!wrong.empty()) {
    answer.sentence = joined(wrong);
    return answer;
  }
  std::vector<std::string> right;
  right.push_back(fmt::format("Nothing is seen to be wrong: {} {}",
                              live_processes_in_words(seen.writing.size()),
                              seen.writing.size() == 1 ? "writes" : "write"));
  if (const auto recent = job.curve().recent_ns())
    right.back() += fmt::format(", steps take {}", format_time(*recent));
  answer.sentence = joined(right);
  return answer;
}

}  // namespace stepscope

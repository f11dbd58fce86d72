// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/recording_words.h"

#include <algorithm>
#include <set>

#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/device_words.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_listed_steps = 4;

// "steps 5, 6 of rank 0 are incomplete and left out"
Message broken_steps(const JobResult& job) {
  std::set<std::int64_t> steps;
  std::vector<int> ranks;
  for (const CutRank& c : job.steps.cut) {
    steps.insert(c.steps.begin(), c.steps.end());
    if (!c.steps.empty()) ranks.push_back(c.rank);
  }
  if (steps.empty()) return is_window(job) ? msg::window_is_whole() : msg::steps_are_whole();
  return msg::steps_broken(std::vector(steps.begin(), steps.end()), ranks);
}

// The mean part of a step, from a sum over a rank's steps that count.
Ns part_of_step(Ns time, const RankResult& r) {
  return time / std::max<std::int64_t>(1, static_cast<std::int64_t>(accounted_count(r)));
}

// Launches without device rows: whose, how many, and which steps are left out for them.
Message lost_sentence(const JobResult& job) {
  std::vector<int> ranks;
  std::set<std::int64_t> steps;
  std::uint64_t lost = 0;
  std::uint64_t queued = 0;
  std::uint64_t launches = 0;
  bool unseen = false;
  for (const RankResult& r : job.ranks) {
    const RankRecording& rec = r.recording;
    const bool only_queued = rec.queued_launches == rec.lost_launches;
    if (rec.lost_steps.empty() && !rec.device_unseen() &&
        (only_queued || lost_share(r) < threshold::least_gain))
      continue;
    ranks.push_back(r.rank);
    steps.insert(rec.lost_steps.begin(), rec.lost_steps.end());
    lost += rec.lost_rows();
    queued += rec.queued_launches;
    launches += rec.launches;
    unseen = unseen || rec.device_unseen();
  }
  if (ranks.empty()) return {};
  if (unseen) return msg::device_unseen(ranks);
  const Value which = steps.size() > most_listed_steps
                          ? Value(msg::from_to(*steps.begin(), *steps.rbegin(), steps.size()))
                          : Value(std::vector(steps.begin(), steps.end()));
  if (lost == 0 && queued > 0 && !steps.empty())
    return msg::rows_not_run(queued, launches, ranks, steps.size(), which);
  return msg::rows_lost(value_if(lost > 0, lost), launches, ranks,
                        value_if(!steps.empty(), steps.size()), which);
}

// A file of several ranks whose rows cannot be distinguished.
Message merged_sentence(const JobResult& job) {
  const auto merged = std::ranges::find_if(
      job.ranks, [](const RankResult& r) { return r.recording.stepping_processes > 1; });
  if (merged == job.ranks.end()) return {};
  return msg::ranks_mixed(merged->rank, merged->recording.stepping_processes);
}

// Rows whose meaning is unknown.
Message nameless_sentence(const JobResult& job) {
  const bool none = !job.ranks.empty() && std::ranges::all_of(job.ranks, [](const RankResult& r) {
    std::uint64_t known = 0;
    for (const std::uint64_t n : r.recording.rows) known += n;
    return known > 0 && known == r.recording.of(Category::other);
  });
  return none ? msg::rows_nameless() : Message();
}

std::string without_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// No rank has a row of what computes.
Message workless_sentence(const JobResult& job) {
  const bool none = !job.ranks.empty() && std::ranges::all_of(job.ranks, [](const RankResult& r) {
    return r.recording.without_work();
  });
  if (!none) return {};
  // Launches would be among the calls that PyTorch's profiler records.
  std::uint64_t calls = 0;
  for (const RankResult& r : job.ranks)
    if (r.recording.format == "kineto")
      calls += r.recording.of(Category::runtime) + r.recording.of(Category::driver);
  const Message said =
      msg::work_not_recorded(record_with(Fact::device_rows, job), value_if(calls > 0, calls));
  const auto warns = std::ranges::find_if(
      job.ranks, [](const RankResult& r) { return !r.recording.warning.empty(); });
  if (warns == job.ranks.end()) return said;
  return msg::sentences(
      Messages{msg::profiler_warns(without_stop(printable(warns->recording.warning))), said});
}

// Host rows of a process that had a GPU.
Message host_only_sentence(const JobResult& job) {
  if (!host_rows_only(job)) return {};
  const std::string& gpu = job.ranks.front().recording.gpu;
  return msg::host_rows_only(printable(gpu), gpu.starts_with("aten::"));
}

// The rank with most time that is not recorded, if that is much.
Message not_recorded_sentence(const JobResult& job) {
  constexpr auto not_recorded = BudgetCategory::not_recorded;
  if (job.ranks.empty()) return {};
  const RankResult& most =
      rank_with_most(job.ranks, [](auto& r) { return accounted_budget(r)[not_recorded]; });
  const Budget budget = accounted_budget(most);
  const Ns time = budget[not_recorded];
  const double share = share_of_time(time, budget.sum());
  if (share < threshold::much_not_recorded) return {};
  const auto cause = std::ranges::find(most.device.idle, not_recorded, &IdleCause::cause);
  const std::string culprit = cause != most.device.idle.end() && !cause->largest.empty()
                                  ? cause->largest.front().culprit.value_or("")
                                  : std::string();
  return msg::time_not_recorded(part_of_step(time, most), Percent{share}, is_window(job),
                                is_graph_launch(culprit),
                                value_if(waits_for_results(culprit), printable(culprit)));
}

// Ranks whose recordings begin so far apart that much of the step is no work of anyone.
Message begins_apart_sentence(const JobResult& job) {
  const auto& common = job.steps.common;
  if (job.ranks.size() < 2 || common.empty() || !job.collectives.matches.clocks_comparable ||
      !counts_in_length(job, common.front().index))
    return {};
  const auto begin = [&](const RankResult& r) {
    const auto at = std::ranges::find(r.steps, common.front().index, &Step::index);
    return at == r.steps.end() ? common.front().start : at->start;
  };
  const RankResult& last = rank_with_most(job.ranks, begin);
  const Ns first = begin(*std::ranges::min_element(job.ranks, {}, begin));
  const Ns apart = begin(last) - first;
  const double share = share_of_time(apart, step_length(job));
  // Rows before the step would give the reason.
  if (share < threshold::much_not_recorded * static_cast<double>(common.size()) ||
      2 * (last.recording.start - first) < apart)
    return {};
  return msg::begins_apart(apart, Percent{share});
}

Message start_up_in_words(const StartUpSpan& span) {
  const std::string what = printable(short_kernel_name(span.what));
  switch (span.kind) {
    case StartUpKind::library:
      return msg::sets_up_library(what, printable(span.most_in));
    case StartUpKind::code:
      return msg::loads_code(what);
    case StartUpKind::first_launch:
      return msg::first_launch_of(shorten(what, 40));
    case StartUpKind::first_call:
      return msg::first_call_of(what);
    case StartUpKind::capture:
      return msg::captures_graph();
    case StartUpKind::context:
      return msg::creates_context(what);
  }
  return {};
}

// The span of start-up with most of a time.
Message longest_start_up(const StartUp& start_up, auto time) {
  return start_up_in_words(*std::ranges::max_element(start_up.spans, {}, time));
}

// The rank that waits most for start-up, if that is much.
Message start_up_sentence(const JobResult& job) {
  if (job.ranks.empty()) return {};
  const RankResult& most =
      rank_with_most(job.ranks, [](auto& r) { return r.recording.start_up.idle; });
  const StartUp& start_up = most.recording.start_up;
  const double share = share_of_time(start_up.idle, accounted_budget(most).sum());
  if (start_up.spans.empty() || share < threshold::much_start_up) return {};
  return msg::start_up_takes(
      part_of_step(start_up.idle, most), Percent{share}, is_window(job),
      longest_start_up(start_up, [](const StartUpSpan& span) { return span.idle; }));
}

// Without marks of steps only the device's span counts, which may be a small part of the recording
// or come after the start-up.
Message span_sentence(const JobResult& job) {
  const auto recorded = [](const RankResult& r) { return r.recording.end - r.recording.start; };
  const auto part = [&](const RankResult& r) {
    return share_of_time(r.steps.front().end - r.steps.front().start, recorded(r));
  };
  const RankResult* least = nullptr;
  for (const RankResult& r : job.ranks)
    if (is_window(r) && !r.device.is_cpu() && (least == nullptr || part(r) < part(*least)))
      least = &r;
  if (least == nullptr) return {};
  const Step& window = least->steps.front();
  const StartUp& start_up = least->recording.start_up;
  const Ns before = start_up.before(window.start);
  const bool much = share_of_time(before, recorded(*least)) >= threshold::much_start_up;
  if (part(*least) > threshold::small_span && !much) return {};
  const auto time_before = [&](const StartUpSpan& span) {
    return std::min(span.end, window.start) - span.start;
  };
  return msg::span_accounted(recorded(*least), window.end - window.start, value_if(much, before),
                             much ? longest_start_up(start_up, time_before) : Message());
}

// A step alone has no other from which its first device work could follow, so its time on the
// device may be a small part of its mark.
Message step_span_sentence(const JobResult& job) {
  for (const RankResult& r : job.ranks) {
    if (r.steps.size() != 1 || is_window(r) || r.device.is_cpu()) continue;
    const Step& step = r.steps.front();
    const Ns marked = step.host_end - step.host_start;
    if (marked > Ns{0} && step.start > step.host_start &&
        share_of_time(step.end - step.start, marked) <= threshold::small_span)
      return msg::step_accounted(marked, step.end - step.start);
  }
  return {};
}

}  // namespace

Message cut_sentence(std::span<const InputRow> inputs, const JobResult& job) {
  const auto cut = [](const InputRow& i) { return i.truncated && !i.error; };
  const auto files = std::ranges::count_if(inputs, cut);
  if (files == 0 || job.steps.cut.empty()) return {};
  const InputRow& first = *std::ranges::find_if(inputs, cut);
  return msg::cut_off(value_if(files > 1, files), printable(first.path), first.cut_at,
                      job.steps.common.empty() ? msg::no_step_left() : broken_steps(job),
                      value_if(first.packed_cut, first.file_bytes));
}

Message recording_sentence(std::span<const InputRow> inputs, const JobResult& job) {
  for (Message said : {merged_sentence(job), nameless_sentence(job), workless_sentence(job),
                       cut_sentence(inputs, job), lost_sentence(job), not_recorded_sentence(job),
                       begins_apart_sentence(job), host_only_sentence(job)})
    if (!said.empty()) return said;
  return joined(msg::sentences,
                {start_up_sentence(job), span_sentence(job), step_span_sentence(job)});
}

Message slowed_sentence(const JobResult& job) {
  std::vector<Ns> unrecorded;
  for (const RankResult& r : job.ranks)
    if (r.recording.unrecorded_step) unrecorded.push_back(*r.recording.unrecorded_step);
  if (unrecorded.empty() || is_window(job)) return {};
  const Ns middle = upper_median(unrecorded);
  const auto longer = static_cast<double>(step_length(job).count());
  if (longer < threshold::slowed_by_recording * static_cast<double>(middle.count())) return {};
  return msg::slowed_by_recording(middle);
}

bool unaccountable(const JobResult& job) {
  return !merged_sentence(job).empty() || !nameless_sentence(job).empty() ||
         !workless_sentence(job).empty();
}

Messages lost_rows_warnings(const JobResult& job) {
  Messages out;
  std::vector<int> unseen;
  std::vector<int> lossy;
  std::vector<int> queueing;
  std::uint64_t lost = 0;
  std::uint64_t queued = 0;
  for (const RankResult& r : job.ranks) {
    const std::uint64_t own =
        r.recording.device_unseen() ? r.recording.lost_launches : r.recording.lost_rows();
    if (r.recording.queued_launches > 0) queueing.push_back(r.rank);
    queued += r.recording.queued_launches;
    if (own == 0) continue;
    (r.recording.device_unseen() ? unseen : lossy).push_back(r.rank);
    if (!r.recording.device_unseen()) lost += own;
  }
  if (job.ranks.empty()) return out;
  const RankResult& first = job.ranks.front();
  if (!unseen.empty()) out.push_back(msg::no_device_rows(unseen, device_rows_remedy(job)));
  if (!lossy.empty())
    out.push_back(msg::launches_lost(
        lost, lossy, first.recording.format == "kineto" && first.device.kind == "cuda"));
  if (!queueing.empty()) out.push_back(msg::launches_queued(queued, queueing));
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/device_words.h"

#include <algorithm>
#include <utility>

#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

namespace stepscope {

bool has_managed_memory(const JobResult& job) {
  return std::ranges::any_of(job.ranks,
                             [](const RankResult& r) { return r.recording.managed_memory; });
}

Message late_start_text(const JobResult& job) {
  const RankResult& r = rank_with_most(job.ranks, [](auto& x) { return x.host.idle.late; });
  const HostIdle& idle = r.host.idle;
  const Ns time = idle.late / static_cast<std::int64_t>(std::max<std::size_t>(1, r.steps.size()));
  const double share = share_of_time(time, step_length(job));
  // Time slices of another process have a sentence of their own.
  if (job.explanation && !job.explanation->held.empty()) return {};
  if (idle.late_starts == 0 || share < threshold::late_starts_told) return {};
  Messages said = {msg::starts_late(r.rank, idle.late / static_cast<std::int64_t>(idle.late_starts),
                                    idle.late_starts, time, Percent{share})};
  if (has_managed_memory(job)) said.push_back(msg::may_fault());
  return msg::sentences(std::move(said));
}

double held_in(const JobResult& job) {
  if (!job.explanation || job.steps.common.empty()) return 0;
  double sum = 0;
  for (const HeldDevice& held : job.explanation->held)
    sum += static_cast<double>(held.total.count());
  return sum / static_cast<double>(job.steps.common.size() * job.ranks.size());
}

Message shared_device_text(const JobResult& job) {
  for (const RankResult& r : job.ranks)
    for (const IdleCause& cause : r.device.idle) {
      if (cause.cause != BudgetCategory::idle_launch || cause.count == 0 || cause.largest.empty())
        continue;
      const std::string& meanwhile = cause.largest.front().host_activity;
      const bool in_launch = meanwhile.starts_with("cuda") || meanwhile.starts_with("hip") ||
                             meanwhile.starts_with("cu");
      const bool much =
          static_cast<double>(cause.total.count()) >
          threshold::late_starts_share * static_cast<double>(r.budget.total.sum().count());
      const bool long_ones =
          cause.total / static_cast<std::int64_t>(cause.count) >= threshold::late_start_gap;
      if (in_launch || !much || !long_ones ||
          r.host.slack_p50.value_or(Ns{}) < threshold::late_start_slack)
        continue;
      return msg::kernels_start_late(r.rank,
                                     cause.total / static_cast<std::int64_t>(r.steps.size()));
    }
  return {};
}

Message managed_text(const JobResult& job) {
  const RankResult& r =
      rank_with_most(job.ranks, [](auto& x) { return x.recording.fault_migrations; });
  if (r.recording.fault_migrations < threshold::many_faults) return {};
  return msg::sentences(
      Messages{msg::managed_moved(r.recording.migrations, r.recording.migration_time,
                                  r.recording.fault_migrations),
               msg::waits_for_pages()});
}

bool host_rows_only(const JobResult& job) {
  return !job.ranks.empty() && std::ranges::all_of(job.ranks, [](const RankResult& r) {
    return r.recording.without_gpu_rows();
  });
}

Message start_up_text(const JobResult& job) {
  const StartUpSpan* longest = nullptr;
  const RankResult* of = nullptr;
  for (const RankResult& r : job.ranks) {
    const auto context =
        std::ranges::find(r.recording.start_up.spans, StartUpKind::context, &StartUpSpan::kind);
    if (context == r.recording.start_up.spans.end() || !is_window(r) || r.device.is_cpu() ||
        share_of_time(r.steps.front().end - r.steps.front().start,
                      r.recording.end - r.recording.start) >= threshold::least_work)
      return {};
    if (longest != nullptr && context->end - context->start <= longest->end - longest->start)
      continue;
    longest = &*context;
    of = &r;
  }
  if (longest == nullptr) return {};
  return msg::only_start_up(of->steps.front().end - of->steps.front().start,
                            of->recording.end - of->recording.start, printable(longest->what),
                            longest->end - longest->start);
}

Message no_step_text(const RankResult& rank) {
  const bool timed =
      std::ranges::any_of(rank.recording.rows, [](std::uint64_t rows) { return rows > 0; });
  return timed ? msg::no_step_of_rank() : msg::no_timed_row();
}

bool only_fills(const JobResult& job) {
  bool any = false;
  for (const RankResult& r : job.ranks)
    for (const CopyRow& copy : r.memory.copies) {
      if (copy.direction != "memset") return false;
      any = true;
    }
  return any;
}

Message unseen_host_text(const JobResult& job) {
  if (job.ranks.empty() || has(recorded_facts(job), Fact::operators)) return {};
  return msg::record_host(record_with(Fact::operators, job));
}

}  // namespace stepscope

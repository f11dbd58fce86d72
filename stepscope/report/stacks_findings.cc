// SPDX-License-Identifier: Apache-2.0
// What stacks joined with a trace show to be worth doing.
#include <fmt/format.h>

#include <algorithm>

#include "stepscope/report/findings_parts.h"
#include "stepscope/report/format.h"
#include "stepscope/report/stacks_report.h"

namespace stepscope {
namespace {

// Whether a thread runs the passes of training, whatever else.
bool trains(const StacksReport& r, const JoinedThread& t) {
  double passes = 0;
  for (const JoinedPhase& p : t.phases) {
    const std::string& name = r.rules->passes[p.pass].name;
    if (name == "forward" || name == "backward" || name == "recompute" || name == "optimizer")
      passes += p.weight;
  }
  return passes >= 0.1 * t.weight;
}

DeviceMeanwhile lock_of(const StacksReport& r, const JoinedThread& t) {
  DeviceMeanwhile sum;
  for (const JoinedPhase& p : t.phases)
    if (r.rules->phases[p.phase].name == "gil") sum += p.meanwhile;
  return sum;
}

// The thread of the profile that does most in Python meanwhile, this one apart.
std::string other_worker(const StacksReport& r, const StackJoin& join, const JoinedThread& self) {
  const JoinedThread* most = nullptr;
  double most_busy = 0;
  for (const JoinedThread& t : join.threads) {
    double busy = 0;
    for (const JoinedPhase& p : t.phases) {
      const PhaseKind kind = r.rules->phases[p.phase].kind;
      if (kind != PhaseKind::idle && kind != PhaseKind::hidden && kind != PhaseKind::wait)
        busy += p.meanwhile.inside();
    }
    if (&t == &self || busy <= most_busy) continue;
    most = &t;
    most_busy = busy;
  }
  return most == nullptr ? std::string() : thread_label(r, most->thread);
}

std::optional<Finding> lock_in_stacks(const StacksReport& r, const ProfileBesideTrace& p) {
  const RankResult& rank = r.trace->job->ranks[p.rank];
  const JoinedThread* worst = nullptr;
  DeviceMeanwhile lock;
  for (const JoinedThread& t : p.join->threads) {
    const DeviceMeanwhile of = lock_of(r, t);
    if (!trains(r, t) || of.idle() <= lock.idle()) continue;
    worst = &t;
    lock = of;
  }
  if (worst == nullptr || lock.idle() < least_gain * worst->meanwhile.inside()) return std::nullopt;
  Finding f = lock_finding();
  f.evidence.push_back(fmt::format(
      "{} does so in {} of its {} within the steps of rank {}; the "
      "device is idle in {} of that",
      thread_label(r, worst->thread), format_percent(lock.inside() / worst->meanwhile.inside()),
      r.profile->unit == WeightUnit::nanoseconds ? "time" : "samples", rank.rank,
      format_percent(lock.idle() / lock.inside())));
  if (const std::string other = other_worker(r, *p.join, *worst); !other.empty())
    f.evidence.push_back(fmt::format("{} has most to do of the other threads", other));
  // Samples without a duration are counts, which no time follows from.
  if (r.profile->unit != WeightUnit::nanoseconds) {
    f.confidence = Confidence::low;
    return f;
  }
  f.gain = Ns{static_cast<std::int64_t>(lock.idle())} /
           std::max<std::int64_t>(1, std::ssize(rank.steps));
  f.gain_from = "idle time of the device in those waits";
  return f;
}

}  // namespace

std::vector<Finding> stack_findings(const StacksReport& r) {
  std::vector<Finding> out;
  if (!r.trace) return out;
  for (const ProfileBesideTrace& p : r.trace->profiles)
    if (p.join)
      if (auto found = lock_in_stacks(r, p)) out.push_back(std::move(*found));
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const Finding& f) { return f.gain.value_or(Ns{-1}); });
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/findings/stacks_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/stack/flame.h"
#include "stepscope/stack/misread_names.h"

namespace stepscope {
namespace {

// What a finding is looked for in.
struct Stacks {
  const Profile& profile;
  const PhaseRules& rules;
  std::span<const RankResult> ranks;
};

// Whether a thread runs the passes of training, whatever else.
bool trains(const Stacks& s, const JoinedThread& t) {
  double passes = 0;
  for (const JoinedPhase& p : t.phases) {
    const std::string& name = s.rules.passes[p.pass].name;
    if (name == "forward" || name == "backward" || name == "recompute" || name == "optimizer")
      passes += p.weight;
  }
  return passes >= threshold::least_in_passes * t.weight;
}

DeviceMeanwhile lock_of(const Stacks& s, const JoinedThread& t) {
  DeviceMeanwhile sum;
  for (const JoinedPhase& p : t.phases)
    if (s.rules.phases[p.phase].name == "gil") sum += p.meanwhile;
  return sum;
}

// The thread of the profile that does most in Python meanwhile, this one apart.
std::string other_worker(const Stacks& s, const StackJoin& join, const JoinedThread& self) {
  const JoinedThread* most = nullptr;
  double most_busy = 0;
  for (const JoinedThread& t : join.threads) {
    double busy = 0;
    for (const JoinedPhase& p : t.phases) {
      const PhaseKind kind = s.rules.phases[p.phase].kind;
      if (kind != PhaseKind::idle && kind != PhaseKind::hidden && kind != PhaseKind::wait)
        busy += p.meanwhile.inside();
    }
    if (&t == &self || busy <= most_busy) continue;
    most = &t;
    most_busy = busy;
  }
  return most == nullptr ? std::string() : thread_label(s.profile, most->thread);
}

std::optional<Finding> lock_in_stacks(const Stacks& s, const ProfileBesideTrace& p) {
  const RankResult& rank = s.ranks[p.rank];
  const JoinedThread* worst = nullptr;
  DeviceMeanwhile lock;
  for (const JoinedThread& t : p.join->threads) {
    const DeviceMeanwhile of = lock_of(s, t);
    if (!trains(s, t) || of.idle() <= lock.idle()) continue;
    worst = &t;
    lock = of;
  }
  if (worst == nullptr || lock.idle() < threshold::least_gain * worst->meanwhile.inside())
    return std::nullopt;
  Finding f = lock_finding();
  f.evidence.push_back(msg::thread_in_lock(
      thread_label(s.profile, worst->thread), Percent{lock.inside() / worst->meanwhile.inside()},
      s.profile.unit == WeightUnit::nanoseconds, rank.rank, Percent{lock.idle() / lock.inside()}));
  if (const std::string other = other_worker(s, *p.join, *worst); !other.empty())
    f.evidence.push_back(msg::busiest_other_thread(other));
  // Samples without a duration are counts, which no time follows from.
  if (s.profile.unit != WeightUnit::nanoseconds) {
    f.confidence = Confidence::low;
    return f;
  }
  f.gain = Ns{static_cast<std::int64_t>(lock.idle())} /
           std::max<std::int64_t>(1, std::ssize(rank.steps));
  f.bounded_by = msg::by_idle_in_waits();
  return f;
}

}  // namespace

std::vector<Finding> stack_findings(const Profile& profile, const PhaseRules& rules,
                                    std::span<const RankResult> ranks,
                                    const std::vector<ProfileBesideTrace>& beside) {
  std::vector<Finding> out;
  const Stacks stacks{.profile = profile, .rules = rules, .ranks = ranks};
  for (const ProfileBesideTrace& p : beside) {
    auto found = p.join ? lock_in_stacks(stacks, p) : std::nullopt;
    if (!found) continue;
    found->key += fmt::format(":{}", ranks[p.rank].rank);
    out.push_back(std::move(*found));
  }
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const Finding& f) { return f.gain.value_or(Ns{-1}); });
  return out;
}

std::string thread_label(const Profile& profile, std::uint32_t number) {
  const ProfileThread& thread = profile.threads[number];
  std::string name = lasting_thread_name(thread.name);
  const auto same = std::ranges::count_if(profile.threads, [&](const ProfileThread& other) {
    return other.input == thread.input && lasting_thread_name(other.name) == name;
  });
  if (same > 1) name = thread.name;
  if (profile.inputs.size() > 1) {
    const std::string& path = profile.inputs[thread.input].path;
    name = fmt::format("{}: {}", path.substr(path.rfind('/') + 1), name);
  }
  return printable(name);
}

Messages input_remarks(const Profile& profile) {
  Messages out;
  for (const ProfileInput& i : profile.inputs) {
    const std::string name = printable(i.path.substr(i.path.rfind('/') + 1));
    if (i.truncated) out.push_back(msg::ends_too_early(name));
    for (const auto& [reason, count] : i.notes) {
      out.push_back(msg::counted_reason(name, spaced(reason), count));
    }
  }
  for (const auto& [written, likely] : misread_names(profile))
    out.push_back(msg::misread_name(written, likely));
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_sentence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepscope/diagnose/findings/stacks_findings.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/say/format.h"
#include "stepscope/stack/flame.h"
#include "stepscope/stack/standing.h"

namespace stepscope {
namespace {

bool tells(PhaseKind kind) {
  return kind != PhaseKind::work && kind != PhaseKind::idle && kind != PhaseKind::hidden &&
         kind != PhaseKind::submit;
}

double busy_inside(const StacksResult& r, const JoinedThread& t) {
  double sum = 0;
  for (const JoinedPhase& p : t.phases)
    if (!idles(r, p)) sum += p.meanwhile.inside();
  return sum;
}

Message sentence_of(const StacksResult& r, const ProfileBesideTrace& p) {
  if (!p.join) return {};
  const RankResult& rank = rank_of(r, p);
  for (const JoinedThread* t : busiest_threads(r, *p.join)) {
    const JoinedPhase* most = nullptr;
    for (const JoinedPhase& phase : t->phases) {
      const PhaseKind kind = r.rules.phases[phase.phase].kind;
      if (kind == PhaseKind::work || kind == PhaseKind::submit || idles(r, phase) ||
          phase.meanwhile.inside() < 0.05 * t->meanwhile.inside())
        continue;
      most = &phase;
      break;
    }
    if (most == nullptr) continue;
    const double idle = most->meanwhile.idle() / most->meanwhile.inside();
    return msg::while_in_phase(
        thread_label(r.profile, t->thread), r.rules.phases[most->phase].label, rank.device.is_cpu(),
        Percent{idle}, idle <= threshold::hardly_idle, idle >= threshold::mostly_idle);
  }
  return {};
}

}  // namespace

std::optional<PhaseWeight> main_phase(const StacksResult& r, const ThreadSummary& t) {
  std::optional<PhaseWeight> any;
  for (const PhaseWeight& w : by_phase(t.phases)) {
    const PhaseKind kind = r.rules.phases[w.phase].kind;
    if (tells(kind) && w.weight >= 0.05 * (t.busy + t.hidden)) return w;
    if (!any && kind != PhaseKind::idle && kind != PhaseKind::hidden) any = w;
  }
  return any;
}

double active_weight(const ThreadSummary& t) { return t.busy + t.hidden; }

const RankResult& rank_of(const StacksResult& r, const ProfileBesideTrace& p) {
  return r.trace->job.ranks[p.rank];
}

std::string_view device_word(const RankResult& rank) {
  return rank.device.is_cpu() ? "main thread" : "device";
}

bool idles(const StacksResult& r, const JoinedPhase& p) {
  const PhaseKind kind = r.rules.phases[p.phase].kind;
  return kind == PhaseKind::idle || kind == PhaseKind::hidden;
}

std::vector<const JoinedThread*> busiest_threads(const StacksResult& r, const StackJoin& join) {
  std::vector<const JoinedThread*> out;
  for (const JoinedThread& t : join.threads)
    if (busy_inside(r, t) > 0) out.push_back(&t);
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [&](const JoinedThread* t) { return busy_inside(r, *t); });
  return out;
}

Message stacks_trace_sentence(const StacksResult& r) {
  if (!r.trace) return {};
  for (const ProfileBesideTrace& p : r.trace->profiles)
    if (Message said = sentence_of(r, p); !said.empty()) return said;
  return {};
}

namespace {

// Where the processes of several dumps stand: those in one phase together, the most first.
Message processes_stand(const StacksResult& r) {
  const std::vector<Standing> all = standing_of(r.profile, r.rules, r.phases);
  if (all.size() < 2) return {};
  std::map<std::uint32_t, std::vector<const Standing*>> by_phase;
  for (const Standing& s : all) by_phase[s.phase].push_back(&s);
  std::vector<const std::vector<const Standing*>*> classes;
  for (const auto& [phase, of] : by_phase) classes.push_back(&of);
  std::ranges::stable_sort(classes, std::ranges::greater{},
                           [](const auto* c) { return c->size(); });
  std::vector<std::string> paths;
  for (const ProfileInput& input : r.profile.inputs) paths.push_back(input.path);
  const auto ranks = ranks_from_names(paths, std::nullopt);
  const bool one_each = all.size() == paths.size();
  Messages parts;
  for (const auto* c : classes) {
    std::vector<int> numbers;
    std::vector<std::string> names;
    std::set<std::string> frames;
    for (const Standing* s : *c) {
      if (one_each && ranks[s->input]) numbers.push_back(*ranks[s->input]);
      names.push_back(printable(thread_label(r.profile, s->thread)));
      frames.insert(printable(s->frame));
    }
    std::ranges::sort(numbers);
    const bool same = frames.size() == 1 && !frames.begin()->empty();
    parts.push_back(msg::stands_in(numbers.size() == names.size() ? Value(numbers) : Value(names),
                                   r.rules.phases[c->front()->phase].label,
                                   value_if(same, *frames.begin())));
  }
  return msg::sentence(msg::clauses(std::move(parts)));
}

// Samples from which on a share is said: of fewer it is off by ten points and more.
constexpr double enough_samples = 30;

Message thread_in_words(const std::string& name, const ThreadSummary& t, double most,
                        const std::string& label, bool samples) {
  const double active = active_weight(t);
  const bool idles = t.idle > 0.1 * t.weight;
  if (samples && t.weight < enough_samples)
    return idles ? msg::thread_busy_in(name, std::llround(active), std::llround(t.weight),
                                       std::llround(most), label)
                 : msg::thread_samples_in_phase(name, t.hidden > 0, std::llround(most),
                                                std::llround(active), label);
  const Percent share{most / active};
  return idles ? msg::thread_busy(name, Percent{active / t.weight}, share, label)
               : msg::thread_in_phase(name, t.hidden > 0, share, label);
}

}  // namespace

Message stacks_sentence(const StacksResult& r) {
  if (Message stand = processes_stand(r); !stand.empty())
    return joined(msg::sentences, {std::move(stand), stacks_trace_sentence(r)});
  Messages parts;
  for (const ThreadSummary& t : r.summary.threads) {
    if (parts.size() == 2 || t.busy < 0.2 * r.summary.threads.front().busy) break;
    const auto most = main_phase(r, t);
    if (!most || t.busy <= 0) continue;
    const std::string& label = r.rules.phases[most->phase].label;
    parts.push_back(thread_in_words(thread_label(r.profile, t.thread), t, most->weight, label,
                                    r.profile.unit == WeightUnit::samples));
  }
  if (parts.empty())
    return r.summary.idle > 0 ? msg::all_threads_idle() : msg::profile_without_stacks();
  const auto idle = std::ranges::count_if(r.summary.threads, [](const ThreadSummary& t) {
    return t.weight > 0 && t.idle > 0.95 * t.weight;
  });
  return joined(msg::sentences,
                {msg::clauses(std::move(parts)),
                 idle > 0 ? msg::threads_idle(idle, shown_threads(r.summary)) : Message(),
                 stacks_trace_sentence(r)});
}

std::string format_weight(double weight, WeightUnit unit) {
  switch (unit) {
    case WeightUnit::nanoseconds:
      return format_time(weight);
    case WeightUnit::bytes:
      return format_bytes(weight);
    case WeightUnit::samples:
    case WeightUnit::other:
      break;
  }
  return weight == std::floor(weight) && std::abs(weight) < 1e15
             ? format_whole(static_cast<std::int64_t>(weight))
             : format_digits(weight);
}

std::string frame_label(const Profile& profile, const NodePhases& phases, StringId frame) {
  return printable(frame_words(profile, phases, frame));
}

}  // namespace stepscope

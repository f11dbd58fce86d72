// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/stacks_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stepscope/diagnose/findings/stacks_findings.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"

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

std::string sentence_of(const StacksResult& r, const ProfileBesideTrace& p) {
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
    std::string out = fmt::format(
        "While {} is in {} the {} is idle for {} of it", thread_label(r.profile, t->thread),
        r.rules.phases[most->phase].label, device_word(rank), format_percent(idle));
    if (idle <= threshold::hardly_idle) out += ", so standing there costs little";
    if (idle >= threshold::mostly_idle) out += ", so that time is lost to it as well";
    return out + '.';
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
  return rank.device == "cpu" ? "main thread" : "device";
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

std::string stacks_trace_sentence(const StacksResult& r) {
  if (!r.trace) return {};
  for (const ProfileBesideTrace& p : r.trace->profiles)
    if (std::string out = sentence_of(r, p); !out.empty()) return out;
  return {};
}

std::string stacks_sentence(const StacksResult& r) {
  std::vector<std::string> parts;
  for (const ThreadSummary& t : r.summary.threads) {
    if (parts.size() == 2 || t.busy < 0.2 * r.summary.threads.front().busy) break;
    const auto most = main_phase(r, t);
    if (!most || t.busy <= 0) continue;
    const std::string& label = r.rules.phases[most->phase].label;
    const std::string share = format_percent(most->weight / active_weight(t));
    const std::string name = thread_label(r.profile, t.thread);
    if (t.idle > 0.1 * t.weight)
      parts.push_back(fmt::format("{}: busy {} of the time, {} of that in {}", name,
                                  format_percent(active_weight(t) / t.weight), share, label));
    else
      parts.push_back(
          fmt::format("{}: {}{} in {}", name, t.hidden > 0 ? "at least " : "", share, label));
  }
  if (parts.empty())
    return r.summary.idle > 0 ? "Every thread is idle." : "The profile shows no stacks.";
  std::string text = fmt::format("{}.", fmt::join(parts, "; "));
  const auto idle = std::ranges::count_if(r.summary.threads, [](const ThreadSummary& t) {
    return t.weight > 0 && t.idle > 0.95 * t.weight;
  });
  if (idle > 0)
    text += fmt::format(" {} of {} threads {} idle.", idle, r.summary.threads.size(),
                        idle == 1 ? "is" : "are");
  if (const std::string meanwhile = stacks_trace_sentence(r); !meanwhile.empty())
    text += ' ' + meanwhile;
  return text;
}

}  // namespace stepscope

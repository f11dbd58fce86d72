// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/job_state.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double recent_s = 30;   // sums over the recent past fade with this constant
constexpr double last_steps = 5;  // sums over the last steps fade with this number of steps
constexpr std::int64_t counted_steps = 20;
constexpr double passed_on = 0.5;  // of a lateness, from other communicators
constexpr double forget_s = 600;   // a communicator without records for so long has ended
constexpr double same_time_s = 5;  // processes of one rank heard so close are both alive
constexpr double gaps = 5;         // times the longest gap until a process is silent

void add(const CommunicatorCounts& counts, LiveCoverage& to) {
  to.records += counts.records;
  to.matched += counts.matched;
  to.unmatched += counts.unmatched;
  to.unrecorded += counts.unrecorded;
  if (counts.records > 0)
    to.least_bytes = std::min(counts.least_bytes, to.least_bytes.value_or(counts.least_bytes));
}

}  // namespace

std::size_t JobState::process(std::string_view name) {
  const auto [found, added] = by_name_.try_emplace(std::string(name), processes_.size());
  if (added) processes_.push_back({.name = std::string(name)});
  return found->second;
}

void JobState::heard(std::size_t process, double now) {
  LiveProcess& p = processes_[process];
  if (p.records++ > 0 && !p.silent) p.longest_gap = std::max(p.longest_gap, now - p.heard);
  p.heard = p.records == 1 ? now : std::max(p.heard, now);
  newest_ = std::max(newest_, p.heard);
}

void JobState::name_rank(std::size_t process, int rank, double now) {
  LiveProcess& p = processes_[process];
  p.rank = rank;
  p.width = 0;
  heard(process, now);
}

void JobState::collective(std::size_t process, const Where& where, const SeenCollective& seen,
                          double now) {
  heard(process, now);
  LiveProcess& p = processes_[process];
  const auto unmatched = [&] {
    ++coverage_.records;
    ++coverage_.unmatched;
  };
  const auto [found, added] =
      by_id_.try_emplace(std::string(where.communicator), communicators_.size());
  if (added) {
    if (communicators_.size() == most_communicators) {
      by_id_.erase(found);
      return unmatched();
    }
    communicators_.push_back(std::make_unique<LiveCommunicator>(
        std::string(where.communicator), std::string(where.name), where.ranks));
    members_.emplace_back(where.ranks, -1);
    counted_.emplace_back();
  }
  const std::size_t c = found->second;
  LiveCommunicator& communicator = *communicators_[c];
  if (static_cast<std::size_t>(where.ranks) != communicator.ranks()) return unmatched();
  if (where.ranks > p.width && (p.width > 0 || p.rank < 0)) {
    p.rank = where.rank;
    p.width = where.ranks;
  }
  auto& member = members_[c][static_cast<std::size_t>(where.rank)];
  if (member < 0 && !p.several)
    p.several =
        std::ranges::find(members_[c], static_cast<std::int64_t>(process)) != members_[c].end();
  member = static_cast<std::int64_t>(process);
  communicator.add(where.rank, seen, now);
}

void JobState::step(StepSource source, const StepSample& sample) {
  curves_[static_cast<std::size_t>(source)].add(sample);
  if (source_ == StepSource::none || source < source_) source_ = source;
}

OwnWork& JobState::peers(std::int32_t named, std::size_t count) {
  auto& found = own_work_[named];
  if (!found || found->ranks() != count) found = std::make_unique<OwnWork>(count);
  return *found;
}

void JobState::rank_step(std::size_t process, const RankOfJob& where, const OwnStep& step,
                         double now) {
  LiveProcess& p = processes_[process];
  if (p.rank != where.rank || p.width != where.world)
    for (LiveProcess& other : processes_) other.replaced |= other.told && other.rank == where.rank;
  p.rank = where.rank;
  p.width = where.world;
  heard(process, now);
  const auto count = static_cast<std::size_t>(where.peer_count);
  if (own_work_.size() == most_communicators && !own_work_.contains(where.peers)) return;
  peers(where.peers, count).add(where.rank, step, now);
}

void JobState::own_work(std::string_view name, std::span<const float> by_rank,
                        const StepSample& steps, double now) {
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    const std::size_t i = process(std::string(name) + " rank " + std::to_string(r));
    LiveProcess& p = processes_[i];
    p.told = true;
    p.rank = static_cast<int>(r);
    if (p.records == 0)
      p.replaced = std::ranges::any_of(processes_, [&](const LiveProcess& other) {
        return !other.told && other.records > 0 && other.rank == p.rank && !other.replaced;
      });
    heard(i, now);
    // Its steps are known better.
    if (p.replaced) return;
  }
  if (by_rank.size() < 2) return;
  peers(0, by_rank.size()).add_round(by_rank, steps.wall_ns, steps.iteration);
}

std::size_t JobState::process_of(int rank) const {
  std::size_t found = processes_.size();
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const LiveProcess& p = processes_[i];
    if (p.rank != rank || p.replaced || p.records == 0) continue;
    if (found == processes_.size() || p.heard > processes_[found].heard) found = i;
  }
  return found;
}

LiveEvent JobState::event(LiveEventKind kind, double now, std::size_t process) const {
  LiveEvent event{.kind = kind, .at = now};
  if (source_ != StepSource::none) event.step = curve().last();
  if (process < processes_.size()) {
    event.host = processes_[process].host;
    event.add_rank(processes_[process].rank);
  }
  return event;
}

void JobState::add_event(LiveEvent event) {
  ++event_counts_[static_cast<std::size_t>(event.kind)];
  events_.push_back(event);
  if (events_.size() > most_events) events_.pop_front();
  fresh_.push_back(std::move(event));
}

void JobState::ras(const RasStatus& status, double now) {
  ++ras_statuses_;
  for (LiveEvent& found : ras_.take(status, now, limits_.stuck_s)) add_event(std::move(found));
}

void JobState::close_all(double now) {
  for (const auto& communicator : communicators_)
    communicator->close_old(now + LiveCommunicator::patience);
  for (const auto& [named, own] : own_work_) own->close_old(now + OwnWork::patience);
}

void JobState::settle(double now) {
  settle_communicators(now);
  settle_lateness(now);
  settle_steps(now);  // a change names the ranks that are late
  settle_transfers(now);
  settle_silence(now);
  settle_stuck(now);
  forget(now);
  settled_ = now;
}

void JobState::settle_communicators(double now) {
  const double passed = settled_ < 0 ? 0 : now - settled_;
  double last_s = recent_s;
  if (const auto step = curve().recent_ns()) last_s = std::min(last_s, last_steps * *step / 1e9);
  for (const auto& communicator : communicators_) {
    communicator->close_old(now);
    communicator->decay(std::exp(-passed / recent_s), std::exp(-passed / last_s));
  }
  for (const auto& [named, own] : own_work_) own->close_old(now);
}

// Steps of the widest communicator whose collectives repeat.
void JobState::settle_steps(double now) {
  LiveCommunicator* widest = nullptr;
  for (const auto& communicator : communicators_) {
    const bool alive = now - communicator->last_record() < forget_s;
    if (alive && communicator->period() &&
        (widest == nullptr || communicator->ranks() > widest->ranks()))
      widest = communicator.get();
  }
  for (const auto& communicator : communicators_) {
    const auto steps = communicator->take_steps();
    if (communicator.get() != widest) continue;
    for (const CollectiveStep& s : steps)
      step(StepSource::collectives, {.wall_ns = s.wall_ns,
                                     .steps = s.steps,
                                     .transfer_ns = s.transfer_ns,
                                     .wait_ns = s.wait_ns});
  }
  for (const auto& [named, own] : own_work_) {
    const auto steps = own->take_steps();
    if (named != own_work_.begin()->first) continue;  // the others have the same steps
    for (const StepSample& s : steps) step(StepSource::ranks, s);
  }
  if (source_ == StepSource::none) return;
  for (std::size_t c = 0; c < communicators_.size(); ++c) tell_step(c);
  StepCurve& curve = curves_[static_cast<std::size_t>(source_)];
  if (auto change = curve.take_change()) {
    LiveEvent found =
        event(change->after_ns > change->before_ns ? LiveEventKind::slower : LiveEventKind::faster,
              now, processes_.size());
    found.change = change;
    for (const LiveProcess& p : processes_)
      if (!p.late_in.empty() && !p.replaced) found.add_rank(p.rank);
    add_event(std::move(found));
  }
}

// How many collectives a communicator has in a step of the job: both are counted over some steps.
void JobState::tell_step(std::size_t communicator) {
  LiveCommunicator& told = *communicators_[communicator];
  Counted& begin = counted_[communicator];
  const CommunicatorCounts& counts = told.counts();
  const std::uint64_t now = counts.collectives;
  const std::int64_t steps = curve().steps() - begin.steps;
  std::size_t in_a_step = 0;
  if (begin.source != source_ || steps < 0 || now < begin.collectives) {
    begin = {.source = source_, .steps = curve().steps(), .collectives = now};
  } else if (steps >= counted_steps) {
    in_a_step = static_cast<std::size_t>(
        std::llround(static_cast<double>(now - begin.collectives) / static_cast<double>(steps)));
    begin = {.source = source_, .steps = curve().steps(), .collectives = now};
  }
  told.know_step(curve().recent_ns().value_or(0), in_a_step);
}

void JobState::settle_lateness(double now) {
  for (LiveProcess& p : processes_) {
    p.inside = 0;
    p.was_late = !p.late_in.empty();
    p.late_in.clear();
    p.phase.clear();
    p.since = -1;
  }
  for (std::size_t c = 0; c < communicators_.size(); ++c)
    for (std::size_t r = 0; r < members_[c].size(); ++r)
      if (members_[c][r] >= 0)
        processes_[static_cast<std::size_t>(members_[c][r])].inside += communicators_[c]->inside(r);
  std::vector<double> elsewhere;
  for (std::size_t c = 0; c < communicators_.size(); ++c) {
    const LiveCommunicator& communicator = *communicators_[c];
    if (newest_ - communicator.last_record() > limits_.silent_s) continue;  // it has ended
    LiveEvent found = event(LiveEventKind::late, now, processes_.size());
    const auto members = communicator.late();
    if (members.empty()) continue;
    const auto inside_others = [&](std::size_t r) {
      return processes_[static_cast<std::size_t>(members_[c][r])].inside - communicator.inside(r);
    };
    elsewhere.clear();
    for (std::size_t r = 0; r < members_[c].size(); ++r)
      if (members_[c][r] >= 0) elsewhere.push_back(inside_others(r));
    if (elsewhere.empty()) continue;
    const double middle = lower_median(elsewhere);
    for (const LiveCommunicator::LateMember& late : members) {
      const auto r = static_cast<std::size_t>(late.rank);
      if (members_[c][r] < 0) continue;
      LiveProcess& p = processes_[static_cast<std::size_t>(members_[c][r])];
      if (p.replaced || !p.late_in.empty() ||
          inside_others(r) - middle + communicator.last_wait(r) >
              passed_on * communicator.lateness(r))
        continue;
      p.late_in = communicator.name_or_id();
      p.late_ns = late.late_ns;
      p.round_ns = late.round_ns;
      if (p.was_late) continue;
      if (found.ranks.empty()) {
        found.host = p.host;
        found.late_ns = late.late_ns;
        if (late.round_ns > 0) found.round_ns = late.round_ns;
        found.round = late.round;
        found.communicator = p.late_in;
      }
      found.add_rank(p.several ? late.rank : p.rank);
    }
    if (found.rank_count > 0) add_event(std::move(found));
  }
  settle_own(now);
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (processes_[i].was_late && processes_[i].late_in.empty() && !processes_[i].replaced)
      add_event(event(LiveEventKind::no_longer_late, now, i));
}

void JobState::settle_own(double now) {
  for (const auto& [named, own] : own_work_) {
    std::optional<LiveEvent> found;
    const auto tell = [&] {
      if (found) add_event(std::move(*found));
      found.reset();
    };
    for (const LateOwnWork& change : own->take_changes()) {
      const std::size_t i = process_of(change.rank);
      if (i == processes_.size()) continue;
      LiveProcess& p = processes_[i];
      // A communicator says the same of it.
      if (!p.late_in.empty() || p.was_late == change.late) continue;
      p.was_late = change.late;
      const auto kind = change.late ? LiveEventKind::late : LiveEventKind::no_longer_late;
      if (found && (found->kind != kind || found->step != change.step)) tell();
      if (!found) {
        found = event(kind, now, processes_.size());
        found->host = p.host;
        found->step = change.step;
        if (change.late) {
          found->since = change.since;
          found->late_ns = change.late_ns;
          found->round_ns = change.step_ns;
          found->phase = change.phase;
        }
      }
      found->add_rank(change.rank);
    }
    tell();
    for (const LateOwnWork& late : own->late()) {
      const std::size_t i = process_of(late.rank);
      if (i == processes_.size() || !processes_[i].late_in.empty()) continue;
      LiveProcess& p = processes_[i];
      p.late_in = own_work_name;
      p.phase = late.phase;
      p.late_ns = late.late_ns;
      p.round_ns = late.step_ns;
      p.since = late.since;
      p.was_late = true;
    }
  }
}

// Whether the job now has other ranks, and processes of the number of ranks that this one belongs
// to were replaced about when it was heard last.
bool JobState::gone_with_others(const LiveProcess& process, std::int32_t world) const {
  if (process.width == world || process.rank < 0) return false;
  return std::ranges::any_of(processes_, [&](const LiveProcess& other) {
    return other.replaced && other.width == process.width &&
           std::abs(other.heard - process.heard) < limits_.silent_s;
  });
}

void JobState::settle_silence(double now) {
  // The newest process of a rank counts; an older one was replaced.
  std::int32_t world = 0;
  for (const LiveProcess& p : processes_)
    if (now - p.heard < limits_.silent_s) world = std::max(world, p.width);
  if (world > 0) {
    by_rank_.clear();
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const LiveProcess& p = processes_[i];
      if (p.width != world || p.rank < 0) continue;
      const auto [found, added] = by_rank_.try_emplace(p.rank, i);
      if (!added && processes_[found->second].heard < p.heard) found->second = i;
    }
    std::size_t replaced = 0, first = processes_.size();
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      LiveProcess& p = processes_[i];
      if (p.replaced || p.width == 0) continue;
      const auto found = by_rank_.find(p.rank);
      if (found == by_rank_.end()
              ? !gone_with_others(p, world)
              : found->second == i || processes_[found->second].heard - p.heard < same_time_s)
        continue;
      p.replaced = true;
      if (replaced++ == 0) first = i;
    }
    if (replaced > 0) {
      LiveEvent found = event(LiveEventKind::restarted, now, first);
      found.rank_count = replaced;
      add_event(std::move(found));
    }
  }
  const auto is_silent = [&](const LiveProcess& p) {
    return now - p.heard >= std::max(limits_.silent_s, gaps * p.longest_gap);
  };
  std::optional<double> newest;
  bool stands = true;
  for (const LiveProcess& p : processes_) {
    if (p.replaced || p.records == 0) continue;
    newest = std::max(newest, std::optional(p.heard));
    stands = stands && is_silent(p);
  }
  stands = stands && newest;
  if (stands != stands_) {
    LiveEvent found = event(stands ? LiveEventKind::stands_still : LiveEventKind::moves_again, now,
                            processes_.size());
    if (stands) found.seconds = now - *newest;
    add_event(std::move(found));
  }
  stands_ = stands;
  if (stands) return;
  LiveEvent quiet = event(LiveEventKind::silent, now, processes_.size());
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    LiveProcess& p = processes_[i];
    if (p.replaced || p.records == 0) continue;
    const bool silent = is_silent(p);
    if (p.silent && !silent) add_event(event(LiveEventKind::heard_again, now, i));
    if (!p.silent && silent) {
      if (quiet.ranks.empty()) {
        quiet.host = p.host;
        quiet.seconds = now - p.heard;
      }
      quiet.add_rank(p.rank);
    }
    p.silent = silent;
  }
  if (quiet.rank_count > 0) add_event(std::move(quiet));
}

// What changes in several communicators at once is one event, of the one with the largest change.
void JobState::settle_transfers(double now) {
  std::array<std::optional<LiveEvent>, 2> found;  // longer, usual
  for (std::size_t c = 0; c < communicators_.size(); ++c) {
    const LiveCommunicator& communicator = *communicators_[c];
    const TransferRule* rule = communicator.transfers();
    const bool longer = rule != nullptr && rule->longer();
    if (longer == longer_.contains(communicator.id())) continue;
    if (longer)
      longer_.insert(communicator.id());
    else
      longer_.erase(communicator.id());
    // Nothing is known yet of another sequence of collectives.
    if (rule == nullptr || rule->before_ns() == 0) continue;
    const LongerTransfers change{.before_ns = rule->before_ns(),
                                 .now_ns = rule->now_ns(),
                                 .round_ns = communicator.transfer_round_ns()};
    auto& told = found[longer ? 0 : 1];
    const std::size_t others = told ? told->transfers->others + 1 : 0;
    const auto more = [](const LongerTransfers& t) { return t.now_ns - t.before_ns; };
    if (!told || more(change) > more(*told->transfers)) {
      told = event(longer ? LiveEventKind::longer_transfers : LiveEventKind::usual_transfers, now,
                   processes_.size());
      told->communicator = communicator.name_or_id();
      told->rank_count = communicator.ranks();
      for (const std::int64_t process : members_[c]) {
        if (told->ranks.size() == most_ranks_told) break;
        const auto p = static_cast<std::size_t>(process);
        told->ranks.push_back(process < 0 || processes_[p].several ? -1 : processes_[p].rank);
      }
      told->transfers = change;
    }
    told->transfers->others = others;
  }
  for (auto& told : found)
    if (told) add_event(*std::move(told));
}

// Collectives that some ranks have left, while others that were heard before say nothing.
void JobState::settle_stuck(double now) {
  for (std::size_t c = 0; c < communicators_.size(); ++c) {
    const auto& left = communicators_[c]->unfinished();
    if (!left || now - left->since < limits_.stuck_s) continue;
    LiveEvent found = event(LiveEventKind::stuck, now, processes_.size());
    bool all_quiet = true;
    for (const std::int32_t rank : left->missing) {
      const std::int64_t process = members_[c][static_cast<std::size_t>(rank)];
      if (process < 0) continue;  // nothing was ever read of it
      const LiveProcess& p = processes_[static_cast<std::size_t>(process)];
      all_quiet &= now - p.heard >= limits_.stuck_s && !p.replaced;
      if (found.ranks.empty()) found.host = p.host;
      found.ranks.push_back(p.several ? rank : p.rank);
    }
    if (found.ranks.empty() || !all_quiet) continue;
    const auto [told, added] = stuck_.try_emplace(communicators_[c]->id(), left->number);
    if (!added && std::exchange(told->second, left->number) == left->number) continue;
    found.rank_count = left->missing_count;
    found.communicator = communicators_[c]->name_or_id();
    found.collective = left->kind;
    found.number = left->number;
    found.seconds = now - left->since;
    add_event(std::move(found));
  }
}

// Communicators that have ended, so that their number stays bounded over many restarts.
void JobState::forget(double now) {
  for (std::size_t c = 0; c < communicators_.size();) {
    LiveCommunicator& ended = *communicators_[c];
    if (stands_ || now - ended.last_record() < forget_s) {
      ++c;
      continue;
    }
    add(ended.counts(), coverage_);
    stuck_.erase(ended.id());
    longer_.erase(ended.id());
    by_id_.erase(ended.id());
    if (c + 1 < communicators_.size()) {
      std::swap(communicators_[c], communicators_.back());
      std::swap(members_[c], members_.back());
      std::swap(counted_[c], counted_.back());
      by_id_[communicators_[c]->id()] = c;
    }
    communicators_.pop_back();
    members_.pop_back();
    counted_.pop_back();
  }
}

LiveCoverage JobState::coverage() const {
  LiveCoverage out = coverage_;
  for (const auto& communicator : communicators_) add(communicator->counts(), out);
  return out;
}

}  // namespace stepscope

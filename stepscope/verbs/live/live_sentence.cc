// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/live_sentence.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// A phase of a rank's own work; nothing of none.
Message phase_in_words(std::string_view phase) {
  if (phase.empty()) return {};
  if (phase == "data") return msg::loading_data();
  if (phase == "wait_transfer") return msg::copying();
  if (phase == "wait_io") return msg::file_access();
  if (phase == "other") return msg::neither_computing();
  if (phase == "loss") return msg::before_backward();
  if (phase == "after_backward") return msg::after_backward();
  if (phase == "optimizer") return msg::the_optimizer();
  return msg::plain(printable(phase));
}

Value step_if_known(std::int64_t step) { return value_if(step >= 0, step); }

Message ranks_of(const LiveEvent& e) { return live_ranks_in_words(e.ranks, e.rank_count); }

Message subject(const LiveEvent& e) {
  return msg::on_host(ranks_of(e), value_if(e.rank_count == 1, printable(e.host)));
}

std::string_view collective_of(const LiveEvent& e) {
  return collective_kind_names[static_cast<std::size_t>(e.collective)];
}

Message late(const LiveEvent& e) {
  const bool round = !e.round_ns;
  const Message where =
      msg::late_where(round ? Value() : Value(Nanoseconds(*e.round_ns)), round && e.round == 1,
                      value_if(round && e.round > 1, e.round), printable(e.communicator),
                      phase_in_words(e.phase), step_if_known(e.since));
  return (e.round == 0 ? msg::works_late : msg::comes_late)(
      subject(e), e.rank_count, Nanoseconds(e.late_ns.value_or(0)), where);
}

Message changed(const LiveEvent& e) {
  const StepChange& c = *e.change;
  const double change = c.after_ns - c.before_ns;
  Messages parts;
  const auto part = [&](const std::optional<double>& more, MessageMaker<1> in) {
    if (!more || change == 0 || *more / change < 0.2) return;
    parts.push_back(in(Percent{std::min(1.0, *more / change)}));
  };
  part(c.transfer_ns, msg::of_it_in_transfers);
  part(c.wait_ns, msg::of_it_waiting);
  if (c.transfer_ns && c.wait_ns) part(change - *c.transfer_ns - *c.wait_ns, msg::of_it_outside);
  return msg::step_changed(
      Nanoseconds(c.after_ns), Nanoseconds(c.before_ns), c.step,
      format_signed_percent(c.before_ns > 0 ? c.after_ns / c.before_ns - 1 : 0), std::move(parts),
      e.rank_count > 0 ? ranks_of(e) : Message(), e.rank_count);
}

Message transfers(const LiveEvent& e) {
  const LongerTransfers& t = *e.transfers;
  const std::string name = printable(e.communicator);
  const Value others = value_if(t.others > 0, t.others);
  if (e.kind == LiveEventKind::usual_transfers)
    return msg::transfers_usual(name, ranks_of(e), others);
  return msg::transfers_longer(name, ranks_of(e), others, Nanoseconds(t.now_ns),
                               Nanoseconds(t.before_ns), Nanoseconds(t.round_ns));
}

Message stuck(const LiveEvent& e) {
  const Seconds silent{e.seconds.value_or(0)};
  const std::string name = printable(e.communicator);
  return e.by_ras
             ? msg::not_called(subject(e), name, e.rank_count, collective_of(e), e.number, silent)
             : msg::not_left(ranks_of(e), e.rank_count, collective_of(e), e.number, name, silent);
}

}  // namespace

Message live_ranks_in_words(const std::vector<int>& ranks, std::size_t count) {
  constexpr std::size_t max_ranks = 8;
  const bool known = !ranks.empty() && std::ranges::all_of(ranks, [](int r) { return r >= 0; });
  if (!known) return msg::unnamed_processes(count);
  if (count == 1) return msg::plain(std::vector{ranks.front()});
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(ranks.size(), max_ranks); ++i)
    shown.push_back(std::to_string(ranks[i]));
  return msg::ranks_and_others(shown, value_if(count > shown.size(), count - shown.size()));
}

Message event_in_words(const LiveEvent& e) {
  switch (e.kind) {
    case LiveEventKind::late:
      return late(e);
    case LiveEventKind::no_longer_late:
      return msg::no_longer_late(subject(e));
    case LiveEventKind::slower:
    case LiveEventKind::faster:
      return changed(e);
    case LiveEventKind::silent:
      return msg::nothing_written(subject(e), e.rank_count, Seconds{e.seconds.value_or(0)}, false);
    case LiveEventKind::heard_again:
      return msg::writes_again(subject(e));
    case LiveEventKind::stuck:
      return stuck(e);
    case LiveEventKind::unresponsive:
      return msg::ras_unanswered(subject(e), printable(e.communicator), e.rank_count);
    case LiveEventKind::stands_still:
      return msg::nobody_writes(Seconds{e.seconds.value_or(0)}, false);
    case LiveEventKind::moves_again:
      return msg::processes_write_again();
    case LiveEventKind::longer_transfers:
    case LiveEventKind::usual_transfers:
      return transfers(e);
    case LiveEventKind::restarted:
      return msg::job_restarted(ranks_of(e), e.rank_count);
  }
  return {};
}

namespace {

constexpr double lately_s = 300;
constexpr double noticeable = 1.03;  // of a step time, against the one before a change
constexpr std::size_t most_late = 3;

Message late_now(const LiveProcess& p) {
  const Message who = p.rank >= 0 ? msg::on_host(std::vector{p.rank}, printable(p.host))
                                  : msg::plain(printable(p.name));
  return msg::late_by(who, Nanoseconds(p.late_ns),
                      value_if(p.round_ns > 0, Nanoseconds(p.round_ns)), step_if_known(p.since),
                      phase_in_words(p.phase));
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
  bool ranks = false;  // a source covers single ranks
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

double newest_of(const std::vector<const LiveProcess*>& processes) {
  double newest = 0;
  for (const LiveProcess* p : processes) newest = std::max(newest, p->heard);
  return newest;
}

// The last that stuck or did not answer, if that was lately.
Message stuck_lately(const LiveView& view) {
  const auto& events = view.job.events();
  const auto e = std::find_if(events.rbegin(), events.rend(), [&](const LiveEvent& one) {
    const bool stuck = one.kind == LiveEventKind::stuck || one.kind == LiveEventKind::unresponsive;
    return stuck && view.now - one.at < lately_s;
  });
  return e == events.rend() ? Message()
                            : msg::happened_ago(Seconds{view.now - e->at}, event_in_words(*e));
}

Message longer_transfers_now(const JobState& job) {
  std::vector<const LiveCommunicator*> longer;
  for (const auto& c : job.communicators())
    if (const TransferRule* rule = c->transfers(); rule != nullptr && rule->longer())
      longer.push_back(c.get());
  if (longer.empty()) return {};
  const auto more = [](const LiveCommunicator* c) {
    return c->transfers()->now_ns() - c->transfers()->before_ns();
  };
  const LiveCommunicator& most = **std::ranges::max_element(longer, {}, more);
  return msg::transfers_take(printable(most.name().empty() ? most.id() : most.name()),
                             Nanoseconds(most.transfers()->now_ns()),
                             Nanoseconds(most.transfers()->before_ns()),
                             value_if(longer.size() > 1, longer.size() - 1));
}

Messages wrong_now(const LiveView& view, const Seen& seen) {
  const JobState& job = view.job;
  Messages wrong;
  if (job.stands_still())
    wrong.push_back(msg::sentence(msg::nobody_writes(
        Seconds{view.now - std::max(newest_of(seen.silent), newest_of(seen.writing))}, true)));
  wrong.push_back(stuck_lately(view));
  for (std::size_t i = 0; i < std::min(most_late, seen.late.size()); ++i)
    wrong.push_back(late_now(*seen.late[i]));
  if (seen.late.size() > most_late)
    wrong.push_back(msg::more_are_late(seen.late.size() - most_late));
  if (!seen.silent.empty() && !job.stands_still()) {
    std::vector<int> ranks;
    for (const LiveProcess* p : seen.silent) ranks.push_back(p->rank);
    wrong.push_back(
        msg::sentence(msg::nothing_written(live_ranks_in_words(ranks, ranks.size()), ranks.size(),
                                           Seconds{view.now - newest_of(seen.silent)}, true)));
  }
  wrong.push_back(longer_transfers_now(job));
  if (const LiveEvent* slower = slower_now(job))
    wrong.push_back(msg::steps_take_since(Nanoseconds(*job.curve().recent_ns()),
                                          Nanoseconds(slower->change->before_ns),
                                          slower->change->step));
  std::erase_if(wrong, &Message::empty);
  return wrong;
}

Message unseen_of(const LiveView& view, const Seen& seen) {
  const JobState& job = view.job;
  const LiveCoverage c = job.coverage();
  const FollowTotals& f = view.files;
  Messages not_seen;
  if (!seen.ranks)
    not_seen.push_back(msg::unseen_single_ranks());
  else if (c.records == 0 && job.step_source() != StepSource::ranks &&
           job.step_source() != StepSource::engine)
    not_seen.push_back(msg::unseen_rank_steps());
  else if (job.step_source() == StepSource::engine && job.curve().one_mean())
    not_seen.push_back(msg::unseen_read_once());
  if (job.step_source() == StepSource::none) not_seen.push_back(msg::unseen_step_times());
  if (c.records == 0) not_seen.push_back(msg::unseen_collectives());
  const auto lacks = [&](std::uint64_t n, MessageMaker<1> what) {
    if (n > 0) not_seen.push_back(what(format_count(static_cast<double>(n))));
  };
  lacks(c.unrecorded, msg::unseen_calls);
  lacks(c.dropped, msg::unseen_records);
  lacks(c.not_gpu_timed, msg::unseen_timing);
  lacks(f.lost_lines + f.orphans, msg::unseen_lines);
  lacks(f.not_understood, msg::unseen_meaning);
  lacks(f.long_lines, msg::unseen_long);
  lacks(f.left_out, msg::unseen_files);
  if (f.skipped_bytes > 0)
    not_seen.push_back(msg::unseen_bytes(ByteSize{static_cast<double>(f.skipped_bytes)}));
  return joined(msg::clauses, std::move(not_seen));
}

}  // namespace

LiveAnswer live_answer(const LiveView& view) {
  const JobState& job = view.job;
  const Seen seen = seen_of(job);
  if (seen.writing.empty() && seen.silent.empty() && job.ras_statuses() == 0)
    return {.sentence = msg::job_unknown()};
  Messages wrong = wrong_now(view, seen);
  const auto recent = job.curve().recent_ns();
  return {.fine = wrong.empty(),
          .sentence = wrong.empty()
                          ? msg::nothing_wrong(seen.writing.size(),
                                               recent ? Value(Nanoseconds(*recent)) : Value())
                          : joined(msg::sentences, std::move(wrong)),
          .unseen = unseen_of(view, seen)};
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/live/live_sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

std::string subject(const LiveEvent& e) {
  std::string who = live_ranks_in_words(e.ranks, e.rank_count);
  if (e.rank_count == 1 && !e.host.empty()) who += " on " + printable(e.host);
  return who;
}

std::string late(const LiveEvent& e) {
  std::string text =
      fmt::format("{} {} late: {} after the median of its peers", subject(e),
                  e.rank_count == 1 ? "comes" : "come", format_time(e.late_ns.value_or(0)));
  if (e.round == 0)
    text = fmt::format("{} {} late: {} more work of {} own than the median of its peers",
                       subject(e), e.rank_count == 1 ? "is" : "are",
                       format_time(e.late_ns.value_or(0)), e.rank_count == 1 ? "its" : "their");
  if (e.round_ns)
    text += fmt::format(" in a step of {}", format_time(*e.round_ns));
  else if (e.round == 1)
    text += " at each collective";
  else if (e.round > 1)
    text += fmt::format(" over {} collectives", e.round);
  if (!e.communicator.empty())
    text += fmt::format(", in communicator {}", printable(e.communicator));
  if (!e.phase.empty()) text += fmt::format(", most of it in {}", live_phase_in_words(e.phase));
  if (e.since >= 0) text += fmt::format(", since step {}", e.since);
  return text;
}

std::string changed(const LiveEvent& e) {
  const StepChange& c = *e.change;
  std::string text =
      fmt::format("steps take {} instead of {} since step {} ({})", format_time(c.after_ns),
                  format_time(c.before_ns), c.step,
                  format_signed_percent(c.before_ns > 0 ? c.after_ns / c.before_ns - 1 : 0));
  const double change = c.after_ns - c.before_ns;
  const auto part = [&](const std::optional<double>& more, const char* name) {
    if (!more || change == 0 || *more / change < 0.2) return;
    text += fmt::format("; {} of it in {}", format_percent(std::min(1.0, *more / change)), name);
  };
  part(c.transfer_ns, "transfers");
  part(c.wait_ns, "waiting for peers");
  if (c.transfer_ns && c.wait_ns) {
    const std::optional<double> rest = change - *c.transfer_ns - *c.wait_ns;
    part(rest, "the time outside these collectives");
  }
  if (e.rank_count > 0)
    text += fmt::format("; {} {} late now", live_ranks_in_words(e.ranks, e.rank_count),
                        e.rank_count == 1 ? "is" : "are");
  return text;
}

std::string transfers(const LiveEvent& e) {
  const LongerTransfers& t = *e.transfers;
  std::string who = fmt::format("transfers in communicator {} of {}", printable(e.communicator),
                                live_ranks_in_words(e.ranks, e.rank_count));
  if (t.others > 0) who += fmt::format(" and in {} other{}", t.others, t.others == 1 ? "" : "s");
  if (e.kind == LiveEventKind::usual_transfers) return who + " take no longer than before";
  return who + fmt::format(" take longer: {} instead of {} in a step of {}{}",
                           format_time(t.now_ns), format_time(t.before_ns), format_time(t.round_ns),
                           t.others > 0 ? " in the first" : "");
}

std::string stuck(const LiveEvent& e) {
  if (e.by_ras)
    return fmt::format(
        "{} of communicator {} {} not called {} {}, which others have, and no rank has called "
        "anything for {}",
        subject(e), printable(e.communicator), e.rank_count == 1 ? "has" : "have",
        collective_kind_names[static_cast<std::size_t>(e.collective)], e.number,
        format_seconds(e.seconds.value_or(0)));
  return fmt::format(
      "{} {} not left {} {} of communicator {}, which others have, and {} said nothing for {}",
      live_ranks_in_words(e.ranks, e.rank_count), e.rank_count == 1 ? "has" : "have",
      collective_kind_names[static_cast<std::size_t>(e.collective)], e.number,
      printable(e.communicator), e.rank_count == 1 ? "has" : "have",
      format_seconds(e.seconds.value_or(0)));
}

}  // namespace

std::string live_phase_in_words(std::string_view phase) {
  if (phase == "data") return "loading data";
  if (phase == "wait_transfer") return "copies between host and device";
  if (phase == "wait_io") return "reading and writing files";
  if (phase == "other") return "what is neither computing nor loading data";
  if (phase == "loss") return "what is between forward and backward";
  if (phase == "after_backward") return "what is between backward and the optimizer";
  if (phase == "optimizer") return "the optimizer";
  return printable(phase);
}

std::string live_processes_in_words(std::size_t count) {
  return count == 1 ? "1 process" : fmt::format("{} processes", count);
}

std::string live_ranks_in_words(const std::vector<int>& ranks, std::size_t count) {
  constexpr std::size_t most = 8;
  bool known = !ranks.empty();
  for (const int rank : ranks) known &= rank >= 0;
  if (!known) return count == 1 ? "a process" : fmt::format("{} processes", count);
  if (count == 1) return fmt::format("rank {}", ranks.front());
  std::string text = "ranks ";
  const std::size_t shown = std::min(ranks.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == shown && shown == count ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (count > shown) text += fmt::format(" and {} others", count - shown);
  return text;
}

std::string event_in_words(const LiveEvent& e) {
  switch (e.kind) {
    case LiveEventKind::late:
      return late(e);
    case LiveEventKind::no_longer_late:
      return subject(e) + " is no longer late";
    case LiveEventKind::slower:
    case LiveEventKind::faster:
      return changed(e);
    case LiveEventKind::silent:
      return fmt::format("{} {} written nothing for {}", subject(e),
                         e.rank_count == 1 ? "has" : "have", format_seconds(e.seconds.value_or(0)));
    case LiveEventKind::heard_again:
      return subject(e) + " writes again";
    case LiveEventKind::stuck:
      return stuck(e);
    case LiveEventKind::unresponsive:
      return fmt::format("{} of communicator {} {} not answer NCCL's RAS", subject(e),
                         printable(e.communicator), e.rank_count == 1 ? "does" : "do");
    case LiveEventKind::stands_still:
      return fmt::format("no process has written anything for {}",
                         format_seconds(e.seconds.value_or(0)));
    case LiveEventKind::moves_again:
      return "processes write again";
    case LiveEventKind::longer_transfers:
    case LiveEventKind::usual_transfers:
      return transfers(e);
    case LiveEventKind::restarted:
      return fmt::format("the job was restarted: {} {} of another process now",
                         live_ranks_in_words(e.ranks, e.rank_count),
                         e.rank_count == 1 ? "is" : "are");
  }
  return {};
}

}  // namespace stepscope

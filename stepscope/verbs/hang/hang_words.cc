// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/hang_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/base/ascii.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/hang/incident_views.h"

namespace stepscope {

Value number_of_call(const HangResult& r, std::uint32_t group, std::int64_t sequence) {
  if (sequence < 0) return {};
  if (r.records.groups[group].from_log) return msg::number_in_log(fmt::format("{:x}", sequence));
  return sequence;
}

namespace {

// Numbers of ranks, or names of processes if one process has no number.
Value who(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  std::vector<int> numbers;
  std::vector<std::string> labels;
  for (const std::uint32_t rank : ranks) {
    const CommRank& known = r.records.ranks[rank];
    if (known.number) numbers.push_back(*known.number);
    labels.push_back(printable(known.label));
  }
  std::ranges::sort(numbers);
  return numbers.size() == ranks.size() ? Value(numbers) : Value(labels);
}

// Who a finding is about, and the others.
Value they_of(const HangResult& r, const HangFinding& f) {
  return f.numbers.empty() ? who(r, f.ranks) : Value(f.numbers);
}
Value others_of(const HangResult& r, const HangFinding& f) {
  return f.other_numbers.empty() ? who(r, f.others) : Value(f.other_numbers);
}

// Nothing if no line names the group.
Value group_value(const HangResult& r, std::uint32_t group) {
  return r.records.groups[group].unnamed ? Value() : Value(group_in_words(r, group));
}

// "all_reduce 78 of default_pg", "AllReduce (opCount 2a) of the communicator 0x1f of 8 ranks".
Message place(const HangResult& r, const HangFinding& f) {
  return msg::call_in_group(f.call ? Value(printable(f.call->name)) : Value(),
                            number_of_call(r, f.group, f.sequence), group_value(r, f.group));
}

Message mismatch(const HangResult& r, const HangFinding& f) {
  const Value they = they_of(r, f);
  const Value others = others_of(r, f);
  const Value group = group_value(r, f.group);
  const Value number = number_of_call(r, f.group, f.sequence);
  switch (f.kind) {
    case HangKind::size:
      return f.ranks.empty() && f.numbers.empty()
                 ? msg::sizes_differ(place(r, f))
                 : msg::call_of_size(they, place(r, f), printable(f.instead->sizes), others,
                                     printable(f.call->sizes));
    case HangKind::type:
      return msg::call_of_type(they, place(r, f), printable(f.instead->types), others,
                               printable(f.call->types));
    case HangKind::argument:
      return msg::call_with_argument(they, printable(f.instead->name), number, group, others,
                                     printable(f.call->name));
    case HangKind::order:
      return msg::calls_in_other_order(they, printable(f.instead->name), number,
                                       printable(f.call->name), group, others);
    case HangKind::left_out:
      return msg::call_left_out(they, place(r, f), others);
    case HangKind::additional:
      return msg::additional_call(they, printable(f.instead->name), number, group, others);
    default:
      return msg::other_call(they, printable(f.instead->name), number, group, others,
                             printable(f.call->name));
  }
}

// Whether every rank of every group was seen.
Message unseen_ranks(const HangResult& r) {
  std::set<int> recorded;
  for (const CommRank& rank : r.records.ranks)
    if (rank.number) recorded.insert(*rank.number);
  std::set<int> unseen;
  const HangGroup* partial = nullptr;
  for (const HangGroup& g : r.account.groups) {
    if (g.recorded >= g.size) continue;
    if (partial == nullptr || g.size > partial->size) partial = &g;
    if (r.records.groups[g.group].members_recorded)
      for (const int member : r.records.groups[g.group].members)
        if (!recorded.contains(member)) unseen.insert(member);
  }
  if (!unseen.empty()) return msg::ranks_not_seen(std::vector(unseen.begin(), unseen.end()));
  if (partial != nullptr)
    return msg::ranks_partly_seen(partial->recorded, partial->size,
                                  group_in_words(r, partial->group));
  return r.records.ranks.size() == 1 ? msg::one_rank_seen() : msg::all_calls_seen();
}

}  // namespace

Message group_in_words(const HangResult& r, std::uint32_t group) {
  const RecordedGroup& g = r.records.groups[group];
  if (g.unnamed) return msg::group_unnamed();
  if (g.from_log) return msg::communicator(printable(g.id), value_if(g.size > 0, g.size));
  return g.name.empty() || g.name == "undefined" ? msg::group_number(printable(g.id))
                                                 : msg::plain(printable(g.name));
}

namespace {

// Ranks that a finding lacks, by what they left.
struct UnheardRanks {
  std::vector<int> silent;  // no line
  std::vector<int> quiet;   // lines, but no timeout
  std::vector<int> cut;     // a line of the watchdog that ends before it names its call
};

bool is_cut_line_of_watchdog(std::string_view line) {
  constexpr std::string_view file = "ProcessGroupNCCL.cpp";
  const std::size_t at = line.find(file);
  if (at == std::string_view::npos || contains(line, "WorkNCCL(")) return false;
  const std::string_view rest = line.substr(at + file.size());
  const std::string_view words = trimmed(rest.substr(rest.rfind(']') + 1));
  return !contains(rest, "]") || words.empty() || words.starts_with("Watchdog caught");
}

UnheardRanks unheard_ranks(const HangResult& r, const std::vector<int>& ranks) {
  UnheardRanks out;
  for (const int rank : ranks) {
    const auto known = r.records.rank_index.find(rank);
    const auto last = r.records.incident.last_lines.find(rank);
    const bool wrote =
        last != r.records.incident.last_lines.end() ||
        std::ranges::find(r.standing, rank, &StandingProcess::rank) != r.standing.end() ||
        (known != r.records.rank_index.end() && r.records.ranks[known->second].has_log);
    const bool cut =
        last != r.records.incident.last_lines.end() && is_cut_line_of_watchdog(last->second.text);
    (cut ? out.cut : wrote ? out.quiet : out.silent).push_back(rank);
  }
  return out;
}

// Whether a rank wrote any line that is not one of these.
bool others_wrote(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  std::set<int> known;
  for (const std::uint32_t rank : ranks) known.insert(r.records.ranks[rank].number.value_or(-1));
  return std::ranges::any_of(r.records.incident.last_lines,
                             [&](const auto& last) { return !known.contains(last.first); });
}

Message no_record_in_words(const HangResult& r, const HangFinding& f) {
  const UnheardRanks unheard = unheard_ranks(r, f.unrecorded);
  const bool written = !unheard.quiet.empty() || !unheard.cut.empty();
  const Value waiting = who(r, f.others);
  if (r.records.groups[f.group].places.empty() && !written)
    return msg::rank_without_record(waiting, place(r, f), f.unrecorded);
  Message words;
  if (unheard.silent.empty() && unheard.quiet.empty())
    words = msg::waits_alone(waiting, place(r, f));
  else if (unheard.silent.empty() || unheard.quiet.empty())
    words = msg::silent_ranks(waiting, place(r, f),
                              unheard.silent.empty() ? unheard.quiet : unheard.silent,
                              unheard.silent.empty());
  else
    words = msg::silent_and_quiet(waiting, place(r, f), unheard.silent, unheard.quiet);
  return unheard.cut.empty() ? words : msg::watchdog_cut(std::move(words), unheard.cut);
}

Message first_warning(const HangResult& r) {
  const LogMessage& m = r.records.messages.front();
  const std::size_t more = r.records.messages.size() - 1;
  return msg::first_warning(m.rank ? Value(printable(r.records.ranks[*m.rank].label)) : Value(),
                            shorten(printable(m.text), 200), value_if(more > 0, more));
}

// What PyTorch's desync report says, with the numbers of its group.
Message desync_in_words(const HangFinding& f) {
  const Value collective = value_if(f.sequence > 0, f.sequence);
  const Value operation = value_if(!f.barrier.empty(), printable(f.barrier));
  const Value waiting = f.other_numbers.empty() ? Value() : Value(f.other_numbers);
  return f.kind == HangKind::missing
             ? msg::did_not_join(f.numbers, collective, operation, waiting)
             : msg::joined_unfinished(f.numbers, collective, operation, waiting);
}

Message words_of(const HangResult& r, const HangFinding& f) {
  const RecordedGroup& group = r.records.groups[f.group];
  if (!f.numbers.empty() && (f.kind == HangKind::missing || f.kind == HangKind::not_finished))
    return desync_in_words(f);
  if (!f.numbers.empty() && f.call && !f.instead)
    return msg::differs_from_another(f.numbers, printable(f.call->name),
                                     value_if(!f.call->sizes.empty(), printable(f.call->sizes)));
  if (!f.numbers.empty() && f.call && f.instead && f.call->sequence != f.instead->sequence)
    return msg::other_number(they_of(r, f), printable(f.instead->name), f.instead->sequence,
                             others_of(r, f), printable(f.call->name), f.call->sequence);
  switch (f.kind) {
    case HangKind::waiting:
      if (f.silent > 0)
        return msg::silent_others(who(r, f.others), place(r, f), group.size, group.size_by_elements,
                                  f.silent, others_wrote(r, f.others));
      return msg::waits_alone(who(r, f.others), place(r, f));
    case HangKind::barrier:
      return msg::barrier_missed(f.numbers, f.limit,
                                 f.other_numbers.empty() ? Value() : Value(f.other_numbers),
                                 value_if(!f.barrier.empty(), printable(f.barrier)));
    case HangKind::missing:
      return msg::rank_missing(who(r, f.ranks), place(r, f), who(r, f.others), f.unrecorded);
    case HangKind::no_record:
      return no_record_in_words(r, f);
    case HangKind::not_finished:
      return f.others.empty()
                 ? msg::none_finishes(f.ranks.size(), place(r, f))
                 : msg::does_not_finish(who(r, f.ranks), place(r, f), who(r, f.others));
    case HangKind::pair_size:
      return msg::pair_of_sizes(who(r, f.ranks), printable(f.call->sizes), who(r, f.others),
                                group_in_words(r, f.group), printable(f.instead->sizes));
    case HangKind::unpaired:
      return msg::waits_for_peer(who(r, f.others), place(r, f), who(r, f.ranks),
                                 f.call->name.starts_with("s") || f.call->name.starts_with("S"));
    case HangKind::timeout:
      return msg::gave_up(who(r, f.ranks), place(r, f));
    default:
      return mismatch(r, f);
  }
}

}  // namespace

Message finding_in_words(const HangResult& r, const HangFinding& f) {
  const bool certain = (f.kind == HangKind::missing && !f.numbers.empty()) ||
                       f.kind == HangKind::waiting || f.kind == HangKind::no_record ||
                       f.kind == HangKind::not_finished || f.kind == HangKind::timeout;
  Message words = words_of(r, f);
  return r.records.groups[f.group].guessed && !certain ? msg::if_one_group(std::move(words))
                                                       : words;
}

Message evidence_in_words(const HangResult& r) {
  const auto& findings = r.account.findings;
  Messages parts = {cause_in_words(r)};
  if (!findings.empty()) {
    parts.push_back(msg::sentence(finding_in_words(r, findings.front())));
    const auto causes =
        std::ranges::count_if(findings, [](const HangFinding& f) { return !f.follows; });
    if (findings.front().circular)
      parts.push_back(msg::wait_in_circle(false));
    else if (causes > 1)
      parts.push_back(msg::other_causes(causes - 1));
  }
  for (Message& status : ras_in_words(r)) {
    if (parts.size() > 3) break;
    parts.push_back(msg::sentence(std::move(status)));
  }
  if (Message stands = standing_in_words(r); !stands.empty())
    parts.push_back(msg::sentence(std::move(stands)));
  for (const Message& warning : r.warnings)
    if (warning.kind == MessageKind::calls_far_apart) parts.push_back(warning);
  if (Message all = joined(msg::sentences, std::move(parts)); !all.empty()) return all;
  if (Message event = first_event_in_words(r); !event.empty()) return event;
  return r.account.calls == 0 && !r.records.messages.empty() ? first_warning(r) : Message();
}

Message hang_sentence(const HangResult& r) {
  if (Message evidence = evidence_in_words(r); !evidence.empty()) return evidence;
  if (Messages ooms = ooms_in_words(r); r.account.calls == 0 && !ooms.empty())
    return msg::sentence(std::move(ooms.front()));
  return r.account.calls == 0 ? msg::no_calls() : msg::nothing_stands_still(unseen_ranks(r));
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/hang_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/base/ascii.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/hang/incident_views.h"
#include "stepscope/verbs/hang/nccl_json.h"
#include "stepscope/verbs/hang/nccl_shape_text.h"

namespace stepscope {

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

// The number of a call as its source writes it: NCCL's logs have hexadecimal ones. Nothing if the
// source lacks it.
Value number_of_call(const HangResult& r, std::uint32_t group, std::int64_t sequence) {
  if (sequence < 0) return {};
  if (r.records.groups[group].from_log) return msg::number_in_log(fmt::format("{:x}", sequence));
  return sequence;
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

Message words_of(const HangResult& r, const HangFinding& f) {
  const RecordedGroup& group = r.records.groups[f.group];
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
  const bool certain = f.kind == HangKind::waiting || f.kind == HangKind::no_record ||
                       f.kind == HangKind::not_finished || f.kind == HangKind::timeout;
  Message words = words_of(r, f);
  return r.records.groups[f.group].guessed && !certain ? msg::if_one_group(std::move(words))
                                                       : words;
}

namespace {

// What the files show of the calls and of the end; nothing if they show neither.
Message evidence_in_words(const HangResult& r) {
  const auto& findings = r.account.findings;
  Messages parts = {cause_in_words(r)};
  if (!findings.empty()) {
    parts.push_back(msg::sentence(finding_in_words(r, findings.front())));
    const auto causes = std::ranges::count(findings, false, &HangFinding::follows);
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

}  // namespace

Message hang_sentence(const HangResult& r) {
  if (Message evidence = evidence_in_words(r); !evidence.empty()) return evidence;
  if (Messages ooms = ooms_in_words(r); r.account.calls == 0 && !ooms.empty())
    return msg::sentence(std::move(ooms.front()));
  return r.account.calls == 0 ? msg::no_calls() : msg::nothing_stands_still(unseen_ranks(r));
}

namespace {

Json ranks_json(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  Json out = Json::array();
  for (const std::uint32_t rank : ranks)
    out.push_back(
        {{"rank", value(r.records.ranks[rank].number)}, {"label", r.records.ranks[rank].label}});
  return out;
}

Json call_json(const std::optional<HangCall>& call) {
  if (!call) return nullptr;
  return {{"name", call->name},
          {"sequence", call->sequence},
          {"sizes", text_or_null(call->sizes)},
          {"types", text_or_null(call->types)},
          {"state", name_of(call->state)},
          {"stack", call->stack}};
}

Json finding_json(const HangResult& r, const HangFinding& f) {
  return {{"kind", name_of(f.kind)},
          {"sentence", say(finding_in_words(r, f))},
          {"group", f.group},
          {"group_name", say(group_in_words(r, f.group))},
          {"sequence", f.sequence},
          {"ranks", ranks_json(r, f.ranks)},
          {"unrecorded_ranks", f.unrecorded},
          {"others", ranks_json(r, f.others)},
          {"numbers", f.numbers},
          {"other_numbers", f.other_numbers},
          {"silent", f.silent},
          {"call", call_json(f.call)},
          {"instead", call_json(f.instead)},
          {"even", f.tied},
          {"next_of_others", f.next_of_others},
          {"follows", f.follows ? Json(*f.follows) : Json(nullptr)},
          {"circular", f.circular}};
}

Json groups_json(const HangResult& r) {
  Json out = Json::array();
  for (const HangGroup& g : r.account.groups) {
    const RecordedGroup& group = r.records.groups[g.group];
    out.push_back({{"group", g.group},
                   {"id", text_or_null(group.id)},
                   {"name", say(group_in_words(r, g.group))},
                   {"source", group.from_log ? "nccl_log" : "torch"},
                   {"size", g.size > 0 ? Json(g.size) : Json(nullptr)},
                   {"members", group.members},
                   {"members_recorded", group.members_recorded},
                   {"recorded", g.recorded},
                   {"calls", g.calls},
                   {"pairs", g.pairs},
                   {"all_reached", value(g.all_reached)},
                   {"furthest", value(g.furthest)},
                   {"finding", g.finding ? Json(*g.finding) : Json(nullptr)}});
  }
  return out;
}

Json inputs_json(const CommRecords& records) {
  Json out = Json::array();
  for (const CommInput& i : records.inputs)
    out.push_back({{"path", i.path},
                   {"format", i.format},
                   {"rank", value(i.rank)},
                   {"text_bytes", i.bytes},
                   {"calls", i.calls},
                   {"truncated", i.truncated},
                   {"notes", i.notes}});
  return out;
}

Json timeouts_json(const HangResult& r) {
  Json out = Json::array();
  for (const WatchdogTimeout& t : r.records.timeouts)
    out.push_back({{"rank", value(r.records.ranks[t.rank].number)},
                   {"group", t.group},
                   {"sequence", t.sequence},
                   {"operation", t.operation},
                   {"in_elements", value(t.in_elements)},
                   {"out_elements", value(t.out_elements)},
                   {"limit_ns", value(t.limit)},
                   {"ran_ns", value(t.ran)}});
  return out;
}

Json messages_json(const HangResult& r) {
  Json out = Json::array();
  for (const LogMessage& m : r.records.messages)
    out.push_back({{"rank", m.rank ? value(r.records.ranks[*m.rank].number) : Json(nullptr)},
                   {"text", m.text},
                   {"times", m.times}});
  return out;
}

Json last_calls_json(const HangResult& r) {
  Json out = Json::array();
  for (const LastCall& last : last_calls(r.records)) {
    const CommRank& rank = r.records.ranks[last.rank];
    out.push_back({{"rank", value(rank.number)},
                   {"label", rank.label},
                   {"calls", last.calls},
                   {"group", last.group},
                   {"group_name", say(group_in_words(r, last.group))},
                   {"name", r.records.strings[last.call.name]},
                   {"sequence", last.call.sequence},
                   {"sizes", text_or_null(std::string(r.records.strings[last.call.in_sizes]))},
                   {"state", name_of(last.call.state)}});
  }
  return out;
}

}  // namespace

Json hang_tree(const HangResult& r) {
  Json findings = Json::array();
  for (const HangFinding& f : r.account.findings) findings.push_back(finding_json(r, f));
  return {{"schema", "stepscope.hang/1"},
          {"version", version()},
          {"answer", {{"sentence", say_stopped(hang_sentence(r))}}},
          {"inputs", inputs_json(r.records)},
          {"calls", r.account.calls},
          {"findings", std::move(findings)},
          {"groups", groups_json(r)},
          {"last_calls", last_calls_json(r)},
          {"timeouts", timeouts_json(r)},
          {"messages", messages_json(r)},
          {"incident", incident_json(r)},
          {"nccl", nccl_json(r.records.nccl)},
          {"warnings", say_all(r.warnings)}};
}

namespace {

constexpr std::size_t shown_findings = 8;
constexpr std::size_t shown_frames = 4;
constexpr std::size_t shown_groups = 12;
constexpr std::size_t shown_messages = 6;

std::string call_line(const HangResult& r, std::uint32_t group, std::string_view label,
                      const HangCall& call) {
  std::string line = fmt::format("  {:<11} {}", label, printable(call.name));
  if (const Value number = number_of_call(r, group, call.sequence); number != Value())
    line += ' ' + say(msg::plain(number));
  if (!call.sizes.empty()) line += ' ' + printable(call.sizes);
  if (!call.types.empty()) line += ' ' + printable(call.types);
  if (call.state != CallState::unknown) line += fmt::format(", {}", name_of(call.state));
  line += '\n';
  for (std::size_t i = 0; i < std::min(call.stack.size(), shown_frames); ++i)
    line += fmt::format("  {:<11}   {}\n", "", printable(call.stack[i]));
  return line;
}

// The sentence of the only finding stands in the answer above.
std::string finding_text(const HangResult& r, const HangFinding& f, bool only, std::size_t width) {
  Message why;
  if (f.circular)
    why = msg::wait_in_circle(true);
  else if (f.follows)
    why = msg::follows_from(*f.follows + 1);
  std::string out;
  if (!only)
    out = wrapped(joined(msg::sentences, {msg::sentence(finding_in_words(r, f)), why}), width);
  const bool absent =
      f.kind == HangKind::missing || f.kind == HangKind::no_record || f.kind == HangKind::waiting;
  const bool pair = f.kind == HangKind::unpaired;
  const char* label = absent || pair ? "waiting in" : f.instead ? "most ranks call" : "calls";
  if (f.call) out += call_line(r, f.group, label, *f.call);
  if (f.instead) out += call_line(r, f.group, absent ? "came last to" : "instead", *f.instead);
  return out;
}

std::string printed(const Message& message) { return printable(say_stopped(message)); }

std::string headline(const HangResult& r) {
  const CommRecords& c = r.records;
  std::size_t dumps = 0;
  std::size_t logs = 0;
  double bytes = 0;
  for (const CommInput& i : c.inputs) {
    (i.format == "log" ? logs : dumps) += 1;
    bytes += static_cast<double>(i.bytes);
  }
  std::vector<std::string> parts;
  if (!c.ranks.empty()) parts.push_back(counted(c.ranks.size(), "rank"));
  const auto groups = std::ranges::count_if(
      r.account.groups, [](const HangGroup& g) { return g.calls + g.pairs > 0 || g.furthest; });
  if (groups > 0) parts.push_back(counted(static_cast<std::uint64_t>(groups), "group"));
  if (r.account.calls > 0) parts.push_back(counted(r.account.calls, "call"));
  if (dumps > 0) parts.push_back(counted(dumps, "dump"));
  if (logs > 0) parts.push_back(counted(logs, "log"));
  parts.push_back(format_bytes(bytes));
  return fmt::format("{}\n\n", fmt::join(parts, " · "));
}

std::string number_or_dash(const std::optional<std::int64_t>& n, bool from_log) {
  if (!n || *n < 0) return "-";
  return from_log ? fmt::format("{:x}", *n) : std::to_string(*n);
}

std::string groups_table(const HangResult& r, std::size_t width) {
  std::vector<Column> columns = {{"group", false, 40}, {"size"},     {"recorded"}, {"calls"},
                                 {"send, recv"},       {"all have"}, {"furthest"}, {"finding"}};
  std::vector<std::vector<std::string>> rows;
  for (const HangGroup& g : r.account.groups) {
    if (g.calls + g.pairs == 0 && !g.furthest) continue;
    if (rows.size() == shown_groups) break;
    const bool from_log = r.records.groups[g.group].from_log;
    rows.push_back({say(group_in_words(r, g.group)), g.size > 0 ? std::to_string(g.size) : "-",
                    std::to_string(g.recorded), std::to_string(g.calls),
                    g.pairs > 0 ? std::to_string(g.pairs) : "-",
                    number_or_dash(g.all_reached, from_log), number_or_dash(g.furthest, from_log),
                    g.finding ? std::to_string(*g.finding + 1) : "-"});
  }
  if (rows.empty()) return {};
  return "\nGroups, by the numbers of their calls:\n" +
         text_table(std::move(columns), std::move(rows), width);
}

std::string communicators_table(const HangResult& r, std::size_t width) {
  const NcclSetup& n = r.records.nccl;
  std::vector<Column> columns = {
      {"communicator", false, 24}, {"ranks"}, {"logged"}, {"nodes"}, {"channels"}, {"init"},
      {"connections", false, 60}};
  std::vector<std::vector<std::string>> rows;
  std::vector<const LoggedCommunicator*> largest;  // first
  for (const LoggedCommunicator& c : n.communicators)
    if (c.ranks != 1) largest.push_back(&c);
  std::ranges::stable_sort(largest, std::ranges::greater{},
                           [](const LoggedCommunicator* c) { return c->ranks; });
  for (const LoggedCommunicator* one : largest) {
    if (rows.size() == shown_groups) break;
    const LoggedCommunicator& c = *one;
    rows.push_back({c.id.empty() ? "-" : printable(c.id), std::to_string(c.ranks),
                    std::to_string(c.members.size()), c.nodes > 0 ? std::to_string(c.nodes) : "-",
                    c.channels > 0 ? std::to_string(c.channels) : "-",
                    c.init_seconds ? format_time(*c.init_seconds * 1e9) : "-",
                    transports_in_words(c.transports)});
  }
  if (rows.empty()) return {};
  std::string out = "\nNCCL";
  for (const auto& [version, lines] : n.versions) out += ' ' + printable(version);
  out +=
      fmt::format(", {} {}", n.processes.size(), n.processes.size() == 1 ? "process" : "processes");
  out += ":\n" + text_table(std::move(columns), std::move(rows), width);
  if (largest.size() > shown_groups)
    out += fmt::format("  and {} more\n", largest.size() - shown_groups);
  if (const std::size_t alone = n.communicators.size() - largest.size(); alone > 0)
    out += fmt::format("  and {} of one rank\n", alone);
  return out;
}

std::string choices_table(const HangResult& r, std::size_t width) {
  std::vector<Column> columns = {{"operation", false}, {"algorithm", false},
                                 {"protocol", false},  {"calls"},
                                 {"smallest"},         {"largest"}};
  std::vector<std::vector<std::string>> rows;
  for (const NcclChoice& c : r.records.nccl.choices) {
    if (rows.size() == shown_groups) break;
    rows.push_back({c.operation.empty() ? "-" : printable(c.operation), printable(c.algorithm),
                    printable(c.protocol), std::to_string(c.calls),
                    format_bytes(static_cast<double>(c.least_bytes)),
                    format_bytes(static_cast<double>(c.most_bytes))});
  }
  if (rows.empty()) return {};
  return "\nWhat NCCL chose:\n" + text_table(std::move(columns), std::move(rows), width);
}

std::string messages_text(const HangResult& r) {
  std::string out;
  std::size_t shown = 0;
  for (const LogMessage& m : r.records.messages) {
    if (shown++ == shown_messages) break;
    out += fmt::format("  {}{}{}\n", m.rank ? printable(r.records.ranks[*m.rank].label) + ": " : "",
                       shorten(printable(m.text), 160),
                       m.times > 1 ? fmt::format(" ({} times)", m.times) : "");
  }
  return out.empty() ? out : "\nWarnings of NCCL:\n" + out;
}

}  // namespace

std::string hang_text(const HangResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = headline(r);
  const auto& findings = r.account.findings;
  out += wrapped(hang_sentence(r), width);
  for (const Message& suspect : suspects_in_words(r)) out += wrapped(printed(suspect), width);
  out += timeline_text(r, width);
  Messages ooms = ooms_in_words(r);
  if (!ooms.empty() && r.account.calls == 0 && evidence_in_words(r).empty())
    ooms.erase(ooms.begin());  // said above
  if (!ooms.empty()) out += "\nOut of memory:\n";
  for (const Message& oom : ooms) out += wrapped("- " + printed(oom), width);
  const bool details = findings.size() > 1 || (!findings.empty() && findings.front().call);
  if (details) out += '\n';
  for (std::size_t i = 0; details && i < std::min(findings.size(), shown_findings); ++i) {
    if (i > 0) out += '\n';
    if (findings.size() > 1) out += fmt::format("{}. ", i + 1);
    out += finding_text(r, findings[i], findings.size() == 1, width);
  }
  if (findings.size() > shown_findings)
    out += fmt::format("\nand {} more {}\n", findings.size() - shown_findings,
                       worded("(--json has all)"));
  out += groups_table(r, width);
  out += communicators_table(r, width);
  out += nccl_shapes_text(r, width);
  out += loose_links_text(r.records.nccl, width);
  out += choices_table(r, width);
  out += messages_text(r);
  Messages notes = r.warnings;
  std::erase_if(notes, [](const Message& m) { return m.kind == MessageKind::calls_far_apart; });
  if (!notes.empty()) out += '\n';
  return out + notes_text(notes, width) + details_line(options);
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/hang_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/hang/hang_words.h"
#include "stepscope/verbs/hang/incident_views.h"
#include "stepscope/verbs/hang/nccl_json.h"
#include "stepscope/verbs/hang/nccl_shape_text.h"

namespace stepscope {

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
  const char* label = absent || pair         ? "waiting in"
                      : f.instead && !f.tied ? "most ranks call"
                                             : "calls";
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

// Where no file states the size, the highest known rank shows the least that it can be.
std::string size_text(const RecordedGroup& group, int size) {
  if (group.places.empty() || group.size > 0 || group.members_recorded)
    return size > 0 ? std::to_string(size) : "-";
  return fmt::format("≥ {}", std::max(size, group.places.rbegin()->first + 1));
}

std::string groups_table(const HangResult& r, std::size_t width) {
  std::vector<Column> columns = {{"group", false, 40}, {"size"},     {"recorded"}, {"calls"},
                                 {"send, recv"},       {"all have"}, {"furthest"}, {"finding"}};
  std::vector<std::vector<std::string>> rows;
  for (const HangGroup& g : r.account.groups) {
    if (g.calls + g.pairs == 0 && !g.furthest) continue;
    if (rows.size() == shown_groups) break;
    const bool from_log = r.records.groups[g.group].from_log;
    rows.push_back({say(group_in_words(r, g.group)), size_text(r.records.groups[g.group], g.size),
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

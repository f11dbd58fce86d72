// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/hang_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

constexpr std::size_t shown_findings = 8;
constexpr std::size_t shown_frames = 4;
constexpr std::size_t shown_groups = 12;
constexpr std::size_t shown_messages = 6;

// "rank 3", "ranks 0, 1", "7 ranks", "process 12 on host a".
std::string who(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  std::vector<int> numbers;
  std::vector<std::string> labels;
  for (const std::uint32_t rank : ranks) {
    const CommRank& known = r.records.ranks[rank];
    if (known.number) numbers.push_back(*known.number);
    labels.push_back(printable(known.label));
  }
  std::ranges::sort(numbers);
  if (numbers.size() == ranks.size()) return ranks_in_words(numbers);
  if (labels.size() > 3) return fmt::format("{} processes", labels.size());
  return fmt::format("{}", fmt::join(labels, " and "));
}

std::string_view is(std::size_t n) { return n == 1 ? "is" : "are"; }
// The ending of a verb behind one or several.
std::string_view s(std::size_t n) { return n == 1 ? "s" : ""; }

// "all_reduce 78 of default_pg".
std::string place(const HangResult& r, const HangFinding& f) {
  const std::string name = f.call ? printable(f.call->name) : "call";
  return fmt::format("{} {} of {}", name, f.sequence, group_in_words(r, f.group));
}

std::string sizes_of(const HangCall& call) {
  return call.sizes.empty() ? std::string("an unknown size") : printable(call.sizes);
}

std::string mismatch(const HangResult& r, const HangFinding& f) {
  const std::string them = who(r, f.others);
  const std::size_t n = f.ranks.size();
  switch (f.kind) {
    case HangKind::size:
      if (f.ranks.empty())
        return fmt::format("in {} the ranks send not as much as they receive", place(r, f));
      return fmt::format("{} call{} {} with {}, {} with {}", who(r, f.ranks), s(n), place(r, f),
                         sizes_of(*f.instead), them, sizes_of(*f.call));
    case HangKind::type:
      return fmt::format("{} call{} {} with {}, {} with {}", who(r, f.ranks), s(n), place(r, f),
                         printable(f.instead->types), them, printable(f.call->types));
    case HangKind::argument:
      return fmt::format("{} call{} {} {} of {}, {} {}", who(r, f.ranks), s(n),
                         printable(f.instead->name), f.sequence, group_in_words(r, f.group), them,
                         printable(f.call->name));
    case HangKind::order:
      return fmt::format("{} call{} {} {} before {} in {}, {} the other way round", who(r, f.ranks),
                         s(n), printable(f.instead->name), f.sequence, printable(f.call->name),
                         group_in_words(r, f.group), them);
    case HangKind::left_out:
      return fmt::format("{} leave{} out {}, which {} call{}", who(r, f.ranks), s(n), place(r, f),
                         them, s(f.others.size()));
    case HangKind::additional:
      return fmt::format("{} call{} {} {} in {}, which {} do{} not call there", who(r, f.ranks),
                         s(n), printable(f.instead->name), f.sequence, group_in_words(r, f.group),
                         them, f.others.size() == 1 ? "es" : "");
    default:
      return fmt::format("{} call{} {} {} in {} where {} call{} {}", who(r, f.ranks), s(n),
                         printable(f.instead->name), f.sequence, group_in_words(r, f.group), them,
                         s(f.others.size()), printable(f.call->name));
  }
}

// Of a pair: who waits in the call is in `others`.
std::string pair_words(const HangResult& r, const HangFinding& f) {
  const bool send = f.call->name.starts_with("s") || f.call->name.starts_with("S");
  if (f.kind == HangKind::pair_size)
    return fmt::format("{} sends {} to {} in {}, which receives {}", who(r, f.ranks),
                       sizes_of(*f.call), who(r, f.others), group_in_words(r, f.group),
                       sizes_of(*f.instead));
  return fmt::format("{} waits in {} for {}, which does not {} it", who(r, f.others), place(r, f),
                     who(r, f.ranks), send ? "receive" : "send");
}

std::string call_line(std::string_view label, const HangCall& call) {
  std::string line = fmt::format("  {:<11} {} {}", label, printable(call.name), call.sequence);
  if (!call.sizes.empty()) line += ' ' + printable(call.sizes);
  if (!call.types.empty()) line += ' ' + printable(call.types);
  if (call.state != CallState::unknown) line += fmt::format(", {}", name_of(call.state));
  line += '\n';
  for (std::size_t i = 0; i < std::min(call.stack.size(), shown_frames); ++i)
    line += fmt::format("  {:<11}   {}\n", "", printable(call.stack[i]));
  return line;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string finding_text(const HangResult& r, const HangFinding& f, std::size_t width) {
  std::string head = capitalised(finding_in_words(r, f)) + '.';
  if (f.circular)
    head += " They wait for each other in a circle.";
  else if (f.follows)
    head += fmt::format(" That follows from finding {}.", *f.follows + 1);
  std::string out = wrapped(head, width);
  const bool absent = f.kind == HangKind::missing;
  const bool pair = f.kind == HangKind::unpaired;
  if (f.call) out += call_line(absent || pair ? "waiting in" : "most call", *f.call);
  if (f.instead) out += call_line(absent ? "came last to" : "instead", *f.instead);
  return out;
}

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
  parts.push_back(counted(c.ranks.size(), "rank"));
  const auto groups = std::ranges::count_if(
      r.account.groups, [](const HangGroup& g) { return g.calls + g.pairs > 0 || g.furthest; });
  parts.push_back(counted(static_cast<std::uint64_t>(groups), "group"));
  parts.push_back(counted(r.account.calls, "call"));
  if (dumps > 0) parts.push_back(counted(dumps, "dump"));
  if (logs > 0) parts.push_back(counted(logs, "log"));
  parts.push_back(format_bytes(bytes));
  return fmt::format("{}\n\n", fmt::join(parts, " · "));
}

std::string number_or_dash(const std::optional<std::int64_t>& n) {
  return n ? std::to_string(*n) : "-";
}

std::string groups_table(const HangResult& r, std::size_t width) {
  std::vector<Column> columns = {{"group", false, 40}, {"size"},     {"recorded"}, {"calls"},
                                 {"send, recv"},       {"all have"}, {"furthest"}, {"finding"}};
  std::vector<std::vector<std::string>> rows;
  for (const HangGroup& g : r.account.groups) {
    if (g.calls + g.pairs == 0 && !g.furthest) continue;
    if (rows.size() == shown_groups) break;
    rows.push_back({group_in_words(r, g.group), g.size > 0 ? std::to_string(g.size) : "-",
                    std::to_string(g.recorded), std::to_string(g.calls),
                    g.pairs > 0 ? std::to_string(g.pairs) : "-", number_or_dash(g.all_reached),
                    number_or_dash(g.furthest), g.finding ? std::to_string(*g.finding + 1) : "-"});
  }
  if (rows.empty()) return {};
  return "\nGroups, by the numbers of their calls:\n" +
         text_table(std::move(columns), std::move(rows), width);
}

std::string transports_in_words(const LoggedCommunicator& c) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : c.transports)
    parts.push_back(fmt::format("{} × {}", count, printable(name)));
  return fmt::format("{}", fmt::join(parts, ", "));
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
                    transports_in_words(c)});
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

std::string group_in_words(const HangResult& r, std::uint32_t group) {
  const RecordedGroup& g = r.records.groups[group];
  if (!g.from_log) {
    if (!g.name.empty() && g.name != "undefined") return printable(g.name);
    return "group " + printable(g.id);
  }
  std::string out = "the communicator";
  if (!g.id.empty()) out += ' ' + printable(g.id);
  if (g.size > 0) out += " of " + counted(static_cast<std::uint64_t>(g.size), "rank");
  return out;
}

std::string finding_in_words(const HangResult& r, const HangFinding& f) {
  switch (f.kind) {
    case HangKind::missing: {
      std::string out =
          fmt::format("{} {} missing in {}, where {} wait{}", who(r, f.ranks), is(f.ranks.size()),
                      place(r, f), who(r, f.others), s(f.others.size()));
      if (!f.unrecorded.empty())
        out += fmt::format(" (of {} nothing is recorded)", ranks_in_words(f.unrecorded));
      return out;
    }
    case HangKind::no_record:
      return fmt::format("{} wait{} in {}, and of {} nothing is recorded", who(r, f.others),
                         s(f.others.size()), place(r, f), ranks_in_words(f.unrecorded));
    case HangKind::not_finished:
      if (f.others.empty())
        return fmt::format("all {} ranks are in {}, and none finishes it", f.ranks.size(),
                           place(r, f));
      return fmt::format("{} do{} not finish {}, {} did", who(r, f.ranks),
                         f.ranks.size() == 1 ? "es" : "", place(r, f), who(r, f.others));
    case HangKind::unpaired:
    case HangKind::pair_size:
      return pair_words(r, f);
    case HangKind::timeout:
      return fmt::format("the watchdog of {} gave up on {}, and nothing tells why", who(r, f.ranks),
                         place(r, f));
    default:
      return mismatch(r, f);
  }
}

std::string hang_sentence(const HangResult& r) {
  const auto& findings = r.account.findings;
  if (findings.empty())
    return r.account.calls == 0
               ? "No calls are recorded: nothing can be said of a hang."
               : "Nothing stands still in what is recorded: every rank has every call.";
  std::string out = capitalised(finding_in_words(r, findings.front())) + '.';
  const auto causes = static_cast<std::size_t>(
      std::ranges::count_if(findings, [](const HangFinding& f) { return !f.follows; }));
  if (findings.front().circular)
    out += " The ranks wait for each other in a circle.";
  else if (causes > 1)
    out += fmt::format(" {} more {} from nothing else.", causes - 1,
                       causes == 2 ? "finding follows" : "findings follow");
  return out;
}

std::string hang_text(const HangResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = headline(r);
  const auto& findings = r.account.findings;
  if (findings.empty()) out += wrapped(hang_sentence(r), width);
  for (std::size_t i = 0; i < std::min(findings.size(), shown_findings); ++i) {
    if (i > 0) out += '\n';
    if (findings.size() > 1) out += fmt::format("{}. ", i + 1);
    out += finding_text(r, findings[i], width);
  }
  if (findings.size() > shown_findings)
    out += fmt::format("\nand {} more (--json has all)\n", findings.size() - shown_findings);
  out += groups_table(r, width);
  out += communicators_table(r, width);
  out += choices_table(r, width);
  out += messages_text(r);
  if (!r.warnings.empty()) out += '\n';
  for (const std::string& w : r.warnings)
    out += wrapped("note: " + shorten(printable(w), note_width), width);
  return out;
}

}  // namespace stepscope

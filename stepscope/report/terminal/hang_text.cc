// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/hang_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "stepscope/report/sentences/hang_sentence.h"
#include "stepscope/report/terminal/nccl_shape_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t shown_findings = 8;
constexpr std::size_t shown_frames = 4;
constexpr std::size_t shown_groups = 12;
constexpr std::size_t shown_messages = 6;

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

std::string finding_text(const HangResult& r, const HangFinding& f, std::size_t width) {
  Message why;
  if (f.circular)
    why = msg::wait_in_circle(true);
  else if (f.follows)
    why = msg::follows_from(*f.follows + 1);
  std::string out =
      wrapped(joined(msg::sentences, {msg::sentence(finding_in_words(r, f)), why}), width);
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
    rows.push_back({say(group_in_words(r, g.group)), g.size > 0 ? std::to_string(g.size) : "-",
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
  out += nccl_shapes_text(r, width);
  out += choices_table(r, width);
  out += messages_text(r);
  if (!r.warnings.empty()) out += '\n';
  return out + notes_text(r.warnings, width) + details_line(options);
}

}  // namespace stepscope

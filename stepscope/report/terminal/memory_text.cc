// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/memory_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/report/sentences/run_sentences.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

std::string file_name(const std::string& path) {
  return printable(path.substr(path.rfind('/') + 1));
}

std::string headline(const AccountedSnapshot& s, const DeviceMemoryAccount& d) {
  std::string out = file_name(s.snapshot.path) + " · " + say(place_in_words(s, d.device));
  if (d.events > 0) {
    out += fmt::format(" · {} events", format_count(static_cast<double>(d.events)));
    if (d.has_times) out += " in " + format_time(d.length);
  } else {
    out += " · no history";
  }
  if (s.snapshot.settings.recorded)
    out += s.snapshot.settings.expandable_segments ? " · expandable segments"
                                                   : " · expandable segments off";
  return out + '\n';
}

std::string uses_table(const DeviceMemoryAccount& d, std::size_t width) {
  std::string out = fmt::format(
      "What holds it{}:\n",
      d.peak.time && d.events > 0
          ? fmt::format(" (at {} of {})", format_time(*d.peak.time), format_time(d.length))
          : std::string());
  std::vector<std::vector<std::string>> rows;
  const Bytes live = d.peak.fragments.live();
  for (const std::size_t u : uses_by_size(d.peak)) {
    const double part = share_of_bytes(d.peak.by_use[u], live);
    rows.push_back({std::string(memory_use_names[u]), format_bytes(d.peak.by_use[u]),
                    format_percent(part), bar(part, 20)});
  }
  return out + text_table({{"use", false}, {"bytes"}, {"of the peak"}, {"", false}},
                          std::move(rows), width);
}

std::string holders_table(const DeviceMemoryAccount& d, std::size_t top, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const MemoryHolder& h : d.peak.holders) {
    if (rows.size() == top) break;
    rows.push_back({format_bytes(h.bytes), std::to_string(h.blocks),
                    std::string(memory_use_names[static_cast<std::size_t>(h.use)]),
                    printable(say(site_in_words(h.site))), printable(h.site.operation)});
  }
  std::string out =
      "\nWho asked for it:\n" +
      text_table({{"bytes"}, {"blocks"}, {"use", false}, {"where", false}, {"operator", false, 30}},
                 std::move(rows), width);
  if (d.peak.holders.size() > top)
    out += fmt::format("  and {} more places (--top)\n", d.peak.holders.size() - top);
  return out;
}

std::string fragments_table(const DeviceMemoryAccount& d) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](std::string_view name, const auto& value) {
    rows.push_back({std::string(name), value(d.peak.fragments), value(d.end.fragments)});
  };
  const auto size = [](Bytes MemoryFragments::* member) {
    return [member](const MemoryFragments& f) { return format_bytes(f.*member); };
  };
  row("reserved from the device", size(&MemoryFragments::reserved));
  row("  requested", size(&MemoryFragments::requested));
  row("  rounding", size(&MemoryFragments::rounding));
  row("  stranded between blocks", size(&MemoryFragments::stranded));
  row("  cached, can go back", size(&MemoryFragments::cached));
  row("largest free block", size(&MemoryFragments::largest_free));
  if (d.peak.fragments.pending.value > 0 || d.end.fragments.pending.value > 0)
    row("waiting for another stream", size(&MemoryFragments::pending));
  row("segments", [](const MemoryFragments& f) { return std::to_string(f.segments); });
  std::string out = "\n";
  // Leading spaces of a cell are layout here, which text_table would take away.
  std::size_t widest = 0;
  for (const auto& cells : rows) widest = std::max(widest, cells[0].size());
  const bool both = d.events > 0;
  out += fmt::format("  {:<{}}{:>12}{}\n", "", widest, both ? "at the peak" : "now",
                     both ? fmt::format("{:>13}", "at the end") : "");
  for (const auto& cells : rows)
    out += fmt::format("  {:<{}}{:>12}{}\n", cells[0], widest, cells[1],
                       both ? fmt::format("{:>13}", cells[2]) : "");
  return out;
}

std::string device_text(const AccountedSnapshot& s, const DeviceMemoryAccount& d, std::size_t top,
                        std::size_t width) {
  std::string out =
      headline(s, d) + '\n' + wrapped(printable(say_stopped(device_memory_sentence(s, d))), width);
  const std::vector<MemoryFinding> findings = memory_findings(s.snapshot, d);
  if (!findings.empty())
    out += wrapped("First thing to try: " + printable(say_stopped(findings.front().advice.empty()
                                                                      ? findings.front().sentence
                                                                      : findings.front().advice)),
                   width);
  if (d.peak.fragments.live().value > 0) out += uses_table(d, width) + holders_table(d, top, width);
  out += fragments_table(d);
  if (!findings.empty()) out += '\n';
  for (const MemoryFinding& f : findings)
    out += wrapped("- " + printable(say_stopped(f.sentence) + ' ' + say_stopped(f.advice)), width);
  return out;
}

}  // namespace

std::string memory_text(const MemoryResult& r, const MemoryTextOptions& options) {
  const auto width = static_cast<std::size_t>(options.text.width);
  std::string out;
  for (const AccountedSnapshot& s : r.snapshots)
    for (const DeviceMemoryAccount& d : s.account.devices) {
      if (!out.empty()) out += '\n';
      out += device_text(s, d, options.top, width);
    }
  if (!r.warnings.empty()) out += '\n';
  out += notes_text(r.warnings, width);
  return out;
}

}  // namespace stepscope

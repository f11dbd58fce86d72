// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/findings_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_listed = 6;

// Wrapped, later lines indented.
std::string indented(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines = wrapped(text, width > indent + 20 ? width - indent : width);
  lines.pop_back();
  for (std::size_t p = lines.find('\n'); p != std::string::npos; p = lines.find('\n', p + indent))
    lines.insert(p + 1, std::string(indent, ' '));
  return std::string(indent, ' ') + lines + '\n';
}

double step_of(const JobResult& job) { return job.step_summary ? job.step_summary->mean : 0; }

}  // namespace

Json findings_json(std::span<const Finding> findings, Ns origin) {
  Json out = Json::array();
  for (const Finding& f : findings) {
    Json place;
    if (f.place)
      place = {{"rank", f.place->rank},
               {"start_ns", value(f.place->start - origin)},
               {"ns", value(f.place->time)}};
    out.push_back({{"id", f.id},
                   {"what", f.what},
                   {"evidence", f.evidence},
                   {"place", std::move(place)},
                   {"advice", f.advice},
                   {"gain_ns", value(f.gain)},
                   {"gain_from", text_or_null(f.gain_from)},
                   {"confidence", confidence_names[static_cast<std::size_t>(f.confidence)]}});
  }
  return out;
}

std::string findings_text(std::span<const Finding> findings, const JobResult& job,
                          std::size_t width) {
  if (findings.empty())
    return "Findings: none. Nothing that was looked for costs a hundredth of a step.\n";
  std::string out = "What to try, by what it gives back a step:\n";
  const double step = step_of(job);
  std::size_t listed = 0;
  for (const Finding& f : findings) {
    if (listed++ == most_listed) break;
    std::string gain = "      ";
    if (f.gain) {
      const auto ns = static_cast<double>(f.gain->count());
      gain = fmt::format("{}{} ({})", f.confidence == Confidence::high ? "" : "at most ",
                         format_time(ns), format_percent(step > 0 ? ns / step : 0));
    }
    out += indented(
        fmt::format("{}. {}{}.", listed, printable(f.what), f.gain ? ": " + gain : std::string()),
        2, width);
    for (const std::string& e : f.evidence) out += indented(printable(e) + ".", 5, width);
    out += indented("→ " + f.advice + ".", 5, width);
  }
  if (findings.size() > most_listed)
    out += fmt::format("  … and {} more\n", findings.size() - most_listed);
  return out;
}

}  // namespace stepscope

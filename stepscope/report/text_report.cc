// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stepscope/report/account.h"
#include "stepscope/report/expected_report.h"
#include "stepscope/report/explanation_report.h"
#include "stepscope/report/findings_report.h"
#include "stepscope/report/text_sections.h"
#include "stepscope/report/text_table.h"
#include "stepscope/report/unit_report.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

// "8 ranks · NVIDIA H100 80GB HBM3 · steps 12–21 · 1.2 GB read in 1.4 s"
std::string headline(const Analysis& report) {
  const JobResult& job = report.job;
  std::vector<std::string> parts;
  parts.push_back(job.ranks.size() == 1 ? fmt::format("rank {}", job.ranks[0].rank)
                                        : fmt::format("{} ranks", job.ranks.size()));
  if (report.world_size && static_cast<std::size_t>(*report.world_size) > job.ranks.size())
    parts.back() += fmt::format(" of {}", *report.world_size);
  std::set<std::string> devices;
  for (const RankResult& r : job.ranks) devices.insert(r.gpu_name.empty() ? r.device : r.gpu_name);
  for (const std::string& d : devices) parts.push_back(printable(d));
  if (job.steps.size() > 1)
    parts.push_back(fmt::format("steps {}–{}", job.steps.front().index, job.steps.back().index));
  else if (job.steps.size() == 1)
    parts.push_back(job.ranks[0].steps[0].name == "window"
                        ? "one window, no steps"
                        : fmt::format("step {}", job.steps[0].index));
  double bytes = 0;
  for (const InputRow& i : report.inputs) bytes += static_cast<double>(i.file_bytes);
  parts.push_back(
      fmt::format("{} read in {}", format_bytes(bytes), format_time(report.read_seconds * 1e9)));
  return fmt::format("{}\n", fmt::join(parts, " · "));
}

std::string phases(const JobResult& job) {
  if (job.phases.size() < 2) return {};
  std::vector<std::string> parts;
  for (const PhaseSummary& p : job.phases)
    parts.push_back(
        fmt::format("{} {}", phase_names[static_cast<std::size_t>(p.phase)], format_time(p.mean)));
  return fmt::format("By phase: {}\n", fmt::join(parts, " · "));
}

// Wrapped under "note: ".
std::string note(std::string_view text, std::size_t width) {
  constexpr std::size_t indent = 6;
  std::string lines = wrapped(text, width - indent);
  lines.pop_back();
  for (std::size_t p = lines.find('\n'); p != std::string::npos; p = lines.find('\n', p + indent))
    lines.insert(p + 1, std::string(indent, ' '));
  return "note: " + lines + '\n';
}

std::string notes(const Analysis& report, std::size_t width) {
  std::string out;
  for (const InputRow& i : report.inputs)
    if (i.truncated)
      out += note(printable(i.path) + " is cut off; what was complete is accounted for", width);
  for (const std::string& w : report.warnings) out += note(printable(w), width);
  return out;
}

}  // namespace

std::string analyze_text(const Analysis& report, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const std::string_view bold = options.colour ? "\033[1m" : "";
  const std::string_view plain = options.colour ? "\033[0m" : "";
  std::string out;
  if (report.job.ranks.empty()) return report.answer.sentence + '\n';
  out += headline(report) + '\n';
  out += fmt::format("{}{}{}", bold, wrapped(report.answer.sentence, width), plain);
  if (report.answer.culprit) {
    std::string culprit = printable(*report.answer.culprit);
    culprit[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(culprit[0])));
    out += wrapped(culprit + ".", width);
  }
  out += '\n';
  if (report.mfu && (report.mfu->mfu || report.mfu->hfu.value_or(0) > 0))
    out += mfu_account(*report.mfu, report.job.ranks.front().device == "cpu");
  else if (!report.job.steps.empty())
    out += budget_account(report.job);
  out += phases(report.job);
  if (!options.details.empty()) out += fmt::format("Details: {}\n", printable(options.details));
  const std::string by_model = expected_step_text(report, width);
  if (!by_model.empty()) out += '\n' + by_model;
  if (report.job.explanation) out += '\n' + findings_text(report.findings, report.job, width);
  const std::string why = explanation_text(report.job, width);
  if (!why.empty()) out += '\n' + why;
  const std::string units = unit_waits_text(report.job, width);
  if (!units.empty()) out += '\n' + units;
  for (const std::string& section : text_sections(report, width))
    if (!section.empty()) out += '\n' + section;
  const std::string by_shapes = expected_shapes_text(report, width);
  if (!by_shapes.empty()) out += '\n' + by_shapes;
  const std::string said = notes(report, width);
  if (!said.empty()) out += '\n' + said;
  return out;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stepscope/report/format.h"
#include "stepscope/report/text_sections.h"
#include "stepscope/report/text_table.h"

namespace stepscope {
namespace {

constexpr std::size_t bar_width = 28;

// "8 ranks · NVIDIA H100 80GB HBM3 · steps 12–21 · 1.2 GB read in 1.4 s"
std::string headline(const AnalyzeReport& report) {
  const JobResult& job = *report.job;
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

// Words break at spaces; continuation lines are indented alike.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t end = std::min(text.find(' ', p), text.size());
    const std::string_view word = text.substr(p, end - p);
    const std::size_t w = columns_of(word);
    if (column > 0 && column + 1 + w > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += w;
    p = end + 1;
  }
  return out + '\n';
}

std::string_view words_of(MfuTerm t) {
  static constexpr std::array<std::string_view, mfu_term_count> words = {
      "model FLOPs (MFU)",
      "recompute",
      "matmul and attention below peak",
      "memory-bound kernels",
      "compute, FLOPs unknown",
      "communication, exposed",
      "waiting for peers",
      "communication, unsplit",
      "copies, exposed",
      "pipeline bubble",
      "data loading",
      "host too slow",
      "host in sync calls",
      "launch latency",
      "waiting for another stream",
      "unexplained"};
  return words[static_cast<std::size_t>(t)];
}

std::string_view words_of(BudgetCategory c) {
  static constexpr std::array<std::string_view, budget_category_count> words = {
      "compute",
      "compute over communication",
      "waiting for peers",
      "communication, exposed",
      "communication, unsplit",
      "copies, exposed",
      "data loading",
      "host too slow",
      "host in sync calls",
      "launch latency",
      "waiting for another stream",
      "unexplained"};
  return words[static_cast<std::size_t>(c)];
}

struct Line {
  std::string_view name;
  double ns = 0;
  double percent = 0;
  std::string note;
};

std::string account(std::vector<Line> lines) {
  std::erase_if(lines, [](const Line& l) { return l.ns == 0; });
  std::ranges::stable_sort(lines, std::greater<>(), &Line::percent);
  double most = 0;
  for (const Line& l : lines) most = std::max(most, l.percent);
  std::string out;
  for (const Line& l : lines) {
    const std::string b = bar(most > 0 ? l.percent / most : 0, bar_width);
    out +=
        fmt::format("  {:<32} {:>8}  {:>5.1f} %  {}{}{}\n", l.name, format_time(l.ns), l.percent, b,
                    l.note.empty() ? "" : std::string(bar_width - columns_of(b) + 2, ' '), l.note);
  }
  return out;
}

std::string mfu_account(const MfuBudget& mfu) {
  std::vector<Line> lines;
  for (const MfuShare& t : mfu.terms) {
    std::string note;
    if (t.money_per_day) note = fmt::format("{:.2f} a day", *t.money_per_day);
    lines.push_back({words_of(t.term), static_cast<double>(t.time.count()), t.percent, note});
  }
  return fmt::format("Where 100 % of the peak goes ({} TFLOP/s a device, {}):\n",
                     format_digits(mfu.peak.value / 1e12), mfu.peak_source) +
         account(std::move(lines));
}

std::string budget_account(const JobResult& job) {
  double step = 0;
  for (const CategorySpread& s : job.spread) step += s.mean;
  std::vector<Line> lines;
  for (std::size_t c = 0; c < budget_category_count; ++c) {
    const CategorySpread& s = job.spread[c];
    std::string note;
    if (job.ranks.size() > 1 && s.worst > s.mean * 1.2 && s.worst - s.mean > step / 100)
      note = fmt::format("rank {}: {}", s.worst_rank, format_time(s.worst));
    lines.push_back({words_of(static_cast<BudgetCategory>(c)), s.mean,
                     step > 0 ? s.mean / step * 100 : 0, note});
  }
  return std::string("Where it goes") +
         (job.ranks.size() > 1 ? " (mean over ranks and steps):\n" : ":\n") +
         account(std::move(lines));
}

std::string phases(const JobResult& job) {
  if (job.phases.size() < 2) return {};
  std::vector<std::string> parts;
  for (const PhaseSummary& p : job.phases)
    parts.push_back(
        fmt::format("{} {}", phase_names[static_cast<std::size_t>(p.phase)], format_time(p.mean)));
  return fmt::format("By phase: {}\n", fmt::join(parts, " · "));
}

std::string failures(const AnalyzeReport& report) {
  std::string out;
  for (const InputRow& i : report.inputs)
    if (i.truncated)
      out += fmt::format("note: {} is cut off; what was complete is accounted for\n", i.path);
  for (const std::string& w : report.warnings) out += "note: " + printable(w) + '\n';
  return out;
}

}  // namespace

std::string analyze_text(const AnalyzeReport& report, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const std::string_view bold = options.colour ? "\033[1m" : "";
  const std::string_view plain = options.colour ? "\033[0m" : "";
  std::string out;
  if (report.job->ranks.empty()) return report.answer.sentence + '\n';
  out += headline(report) + '\n';
  out += fmt::format("{}{}{}", bold, wrapped(report.answer.sentence, width), plain);
  if (report.answer.culprit) {
    std::string culprit = *report.answer.culprit;
    culprit[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(culprit[0])));
    out += wrapped(culprit + ".", width);
  }
  out += '\n';
  if (report.mfu && (report.mfu->mfu || report.mfu->hfu.value_or(0) > 0))
    out += mfu_account(*report.mfu);
  else
    out += budget_account(*report.job);
  out += phases(*report.job);
  if (!options.details.empty()) out += fmt::format("Details: {}\n", options.details);
  for (const std::string& section : text_sections(report, width))
    if (!section.empty()) out += '\n' + section;
  const std::string notes = failures(report);
  if (!notes.empty()) out += '\n' + notes;
  return out;
}

}  // namespace stepscope

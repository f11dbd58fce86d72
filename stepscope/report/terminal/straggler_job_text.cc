// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/straggler_job_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/diagnose/straggler_job_verdict.h"
#include "stepscope/report/terminal/pipeline_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t workers_shown = 3;

std::string sizes_of(const StragglerJob& job) {
  const JobMeta& m = job.meta;
  std::vector<std::string> parts;
  if (m.world_size) parts.push_back(fmt::format("{} GPUs", *m.world_size));
  std::string sizes = fmt::format(
      "DP {} × PP {}", m.dp_size.value_or(static_cast<int>(job.dp_ranks.size())), job.stages);
  const auto further = [&](std::string_view name, const std::optional<int>& size) {
    if (size && *size > 1) sizes += fmt::format(" × {} {}", name, *size);
  };
  further("TP", m.tp_size);
  further("sequence", m.dsp_size);
  parts.push_back(sizes);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const Analysis& report, const StragglerJob& job) {
  double bytes = 0;
  for (const InputRow& i : report.inputs) bytes += static_cast<double>(i.file_bytes);
  std::vector<std::string> parts;
  if (!job.meta.trial_name.empty()) parts.push_back(printable(job.meta.trial_name));
  parts.push_back(sizes_of(job));
  parts.push_back(job.steps.size() == 1
                      ? fmt::format("step {}", job.steps.front().step)
                      : fmt::format("{} steps, {} to {}", job.steps.size(), job.steps.front().step,
                                    job.steps.back().step));
  parts.push_back(fmt::format("{} operations", format_count(static_cast<double>(job.operations))));
  parts.push_back(
      fmt::format("{} read in {}", format_bytes(bytes), format_time(report.read_seconds * 1e9)));
  return fmt::format("{}\n", fmt::join(parts, " · "));
}

std::string slowest(std::span<const GroupSlowdown> groups) {
  std::vector<std::string> parts;
  for (const GroupSlowdown& g : groups.first(std::min<std::size_t>(groups.size(), 3)))
    parts.push_back(fmt::format("{} {:.2f} ×", g.name, g.slowdown));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "  label      what", a line each.
std::string facts(const StragglerJob& job) {
  std::string out;
  const auto line = [&](std::string_view label, const std::string& what) {
    out += fmt::format("  {:<16} {}\n", label, what);
  };
  const auto explained = [](const Explained& e, const char* name, double step) {
    if (!e.rem) return std::string("nothing to explain");
    const double saved = step - nanoseconds_of(e.removed);
    return fmt::format("{} of the loss ({} {:.3f}): mended alone it {} {} a step",
                       share_in_words(e), name, *e.rem, saved >= 0 ? "saves" : "costs",
                       format_time(std::abs(saved)));
  };
  line("worst workers", fmt::format("{}; {}", worst_workers_in_words(job),
                                    explained(job.m_w, "M_W", nanoseconds_of(job.replayed))));
  if (job.stages > 1)
    line("last stage", fmt::format("stage {}; {}", job.stages - 1,
                                   explained(job.m_s, "M_S", nanoseconds_of(job.replayed))));
  if (job.balance)
    line("slowest stage",
         fmt::format("stage {} computes {} longer than the mean of the others; balanced stages "
                     "{} {} a step",
                     job.balance->slowest, format_percent(job.balance->more),
                     saved_by_balance(job) >= Seconds{0} ? "save" : "cost",
                     format_time(std::abs(nanoseconds_of(saved_by_balance(job))))));
  std::vector<std::string> mended;
  for (const JobWorker& w :
       std::span(job.workers).first(std::min(job.workers.size(), workers_shown)))
    if (w.rem) mended.push_back(fmt::format("rank {} {:.1f} %", w.rank, *w.rem * 100));
  line("any one mended", fmt::format("{}", fmt::join(mended, ", ")));
  line("alone real", fmt::format("{} (the rest ideal)", slowest(job.by_operation)));
  if (job.fwd_bwd_correlation)
    line("sequences",
         fmt::format("forward and backward of a microbatch correlate with r = {:.2f}, forward "
                     "varies by {:.1f} %",
                     *job.fwd_bwd_correlation, job.fwd_variation.value_or(0) * 100));
  std::vector<std::string> free;
  for (const CommFree& f : job.comm_free)
    free.push_back(std::isfinite(f.speedup) ? fmt::format("{} {:.3f} ×", f.name, f.speedup)
                                            : fmt::format("{} -", f.name));
  line("free comm", fmt::format("{} faster", fmt::join(free, ", ")));
  line("host", fmt::format("launch delays make the measured step {} longer; with them S is {:.3f}",
                           format_percent(job.launch_slowdown - 1), job.s_host));
  return out;
}

}  // namespace

std::string straggler_text(const Analysis& report, const TextOptions& options) {
  const StragglerJob& job = *report.straggler_job;
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = headline(report, job) + '\n';
  out += fmt::format("{}{}{}", options.colour ? "\033[1m" : "",
                     wrapped(say_stopped(report.answer.sentence), width),
                     options.colour ? "\033[0m" : "");
  if (!report.answer.culprit.empty()) {
    out += wrapped(capitalised(printable(say(report.answer.culprit))) + ".", width);
  }
  out += '\n' + facts(job);
  out += details_line(options);
  if (job.bubble) out += '\n' + job_bubble_text(job.bubble, width);
  if (!report.warnings.empty()) out += '\n';
  for (const std::string& w : report.warnings) out += wrapped("note: " + printable(w), width);
  return out;
}

}  // namespace stepscope

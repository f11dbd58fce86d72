// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/check_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/report/compare_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// Above these a figure is worth a look.
constexpr double much_imbalance = 0.05;
constexpr double much_exposed = 0.10;
constexpr double much_idle = 0.10;
constexpr double little_mfu = 0.30;
constexpr double little_headroom = 0.10;

constexpr std::array exposed = {comm_exposed_wait, comm_exposed_transfer, comm_exposed_unsplit};
constexpr std::array idle = {idle_data,   idle_host,       idle_sync,
                             idle_launch, idle_dependency, idle_unexplained};

// "rank balance".
std::string replaced_underscores(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

CheckStatus good_if(bool ok) { return ok ? CheckStatus::good : CheckStatus::look; }

std::string_view name_of(CheckStatus status) {
  constexpr std::array<std::string_view, 3> names = {"good", "look", "unknown"};
  return names[static_cast<std::size_t>(status)];
}

CheckLine steps_line(const CheckResult& r) {
  const ComparedArm& arm = r.facts.arm;
  CheckLine line{.name = "steps",
                 .status = good_if(arm.n_eff >= r.least_effective),
                 .value = arm.n_eff,
                 .sentence = {}};
  line.sentence =
      fmt::format("{}, median {}", counted(arm.steps, "step"), format_time(arm.median_ns));
  if (arm.stdev_ns)
    line.sentence +=
        fmt::format(", standard deviation {}, {} of them effective",
                    format_percent(*arm.stdev_ns / arm.mean_ns), format_digits(arm.n_eff));
  if (line.status == CheckStatus::look)
    line.sentence += fmt::format("; a comparison needs {:g}", r.least_effective);
  return line;
}

CheckLine mfu_line(const CheckResult& r) {
  const StepFacts& f = r.facts;
  if (!f.mfu)
    return {.name = "mfu",
            .status = CheckStatus::unknown,
            .value = std::nullopt,
            .sentence = "not known: " + r.why_no_mfu};
  return {.name = "mfu",
          .status = good_if(*f.mfu >= little_mfu),
          .value = f.mfu,
          .sentence = fmt::format("{} of the peak{}", format_percent(*f.mfu),
                                  f.hfu ? fmt::format(" (HFU {})", format_percent(*f.hfu)) : "")};
}

CheckLine balance_line(const CheckResult& r) {
  const auto balance = rank_balance(r.facts.ranks);
  if (!balance)
    return {.name = "rank_balance",
            .status = CheckStatus::unknown,
            .value = std::nullopt,
            .sentence = "not known: needs two ranks of one role"};
  return {.name = "rank_balance",
          .status = good_if(balance->excess <= much_imbalance),
          .value = balance->excess,
          .sentence = fmt::format("rank {} computes {} more than the median of its role",
                                  balance->rank, format_percent(balance->excess))};
}

CheckLine straggler_line(const CheckResult& r) {
  const StepFacts& f = r.facts;
  CheckLine line{.name = "stragglers",
                 .status = CheckStatus::unknown,
                 .value = std::nullopt,
                 .sentence = "not known: needs two ranks whose clocks can be compared"};
  if (!f.stragglers.empty()) {
    line.status = CheckStatus::look;
    line.sentence = fmt::format("{}", fmt::join(f.stragglers, "; "));
  } else if (f.arrivals_known) {
    line.status = CheckStatus::good;
    line.sentence = "no rank is late step after step";
  }
  return line;
}

CheckLine share_line(const CheckResult& r, const char* name,
                     std::span<const BudgetCategory> categories, double much, const char* what) {
  const auto share = budget_share(r.facts.ranks, categories);
  if (!share)
    return {.name = name,
            .status = CheckStatus::unknown,
            .value = std::nullopt,
            .sentence = "not known: needs a trace"};
  return {.name = name,
          .status = good_if(*share <= much),
          .value = share,
          .sentence = fmt::format("{} of the step {}", format_percent(*share), what)};
}

CheckLine headroom_line(const CheckResult& r) {
  const StepFacts& f = r.facts;
  if (const double used = !r.log ? 0 : r.log->account.memory_share.value_or(0);
      used > 0 && used <= 1)
    return {.name = "headroom",
            .status = good_if(1 - used >= little_headroom),
            .value = 1 - used,
            .sentence = fmt::format("{} of the device stay free at the peak that the log names",
                                    format_percent(1 - used))};
  if (!f.headroom || !f.capacity || f.capacity->value <= 0)
    return {.name = "headroom",
            .status = CheckStatus::unknown,
            .value = std::nullopt,
            .sentence = "not known: needs the allocator's events and the device's memory"};
  const double share =
      static_cast<double>(f.headroom->value) / static_cast<double>(f.capacity->value);
  return {.name = "headroom",
          .status = good_if(share >= little_headroom),
          .value = share,
          .sentence = fmt::format("{} of {} stay free at the peak",
                                  format_bytes(static_cast<double>(f.headroom->value)),
                                  format_bytes(static_cast<double>(f.capacity->value)))};
}

void ask_of_traces(const JobResult& job, std::vector<std::string>& out) {
  const auto any = [&](auto has) { return std::ranges::any_of(job.ranks, has); };
  if (any([](const RankResult& r) { return r.steps.size() == 1 && r.steps[0].name == "window"; }))
    out.emplace_back("step boundaries: call prof.step() after each step");
  if (!any([](const RankResult& r) { return r.has_shapes; }))
    out.emplace_back("shapes (record_shapes=True): FLOPs, matmul efficiency and MFU need them");
  if (!any([](const RankResult& r) { return !r.memory.devices.empty(); }))
    out.emplace_back("memory (profile_memory=True): headroom and what fills it need it");
  if (job.ranks.size() == 1)
    out.emplace_back(
        "the other ranks of the same steps: waiting, balance and stragglers need them");
  if (any([](const RankResult& r) { return r.device_unseen; }))
    out.emplace_back("the device (ProfilerActivity.CUDA): kernels were launched and none is there");
}

bool needs_look(const std::vector<CheckLine>& lines) {
  return std::ranges::any_of(lines,
                             [](const CheckLine& l) { return l.status == CheckStatus::look; });
}

std::string check_sentence(const std::vector<CheckLine>& lines) {
  std::vector<std::string> names;
  std::size_t known = 0;
  for (const CheckLine& l : lines) {
    if (l.status == CheckStatus::look) names.push_back(replaced_underscores(l.name));
    if (l.status != CheckStatus::unknown) ++known;
  }
  if (!needs_look(lines))
    return fmt::format("Nothing stands out in {} of {} checks; the others lack data.", known,
                       lines.size());
  return fmt::format("Worth a look: {} ({} of {} checks could be made).", fmt::join(names, ", "),
                     known, lines.size());
}

}  // namespace

std::vector<CheckLine> check_lines(const CheckResult& r) {
  return {steps_line(r),
          mfu_line(r),
          balance_line(r),
          straggler_line(r),
          share_line(r, "communication", exposed, much_exposed, "is exposed communication"),
          share_line(r, "idle", idle, much_idle, "is idle"),
          headroom_line(r)};
}

std::vector<std::string> record_next(const CheckResult& r) {
  std::vector<std::string> out;
  const ComparedArm& arm = r.facts.arm;
  if (arm.n_eff < r.least_effective) {
    const double more = std::ceil(r.least_effective * std::max(arm.correlation_time, 1.0));
    out.push_back(fmt::format("more steps: about {:.0f} for one comparison", more));
  }
  if (r.kind == CheckedKind::list || r.kind == CheckedKind::log)
    out.emplace_back("a trace of five steps of every rank: where the time goes needs one");
  if (r.kind == CheckedKind::train)
    out.emplace_back("a trace (--trace DIR): kernels and idle causes need one");
  if (r.job) ask_of_traces(*r.job, out);
  if (!r.facts.mfu && r.kind != CheckedKind::list)
    out.emplace_back("the model (--model NAME --global-batch N --seq N): MFU needs it");
  return out;
}

std::string check_text(const CheckResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const std::vector<CheckLine> lines = check_lines(r);
  std::string out = wrapped(check_sentence(lines), width) + '\n';
  for (const CheckLine& l : lines) {
    const char* mark = l.status == CheckStatus::good   ? "ok"
                       : l.status == CheckStatus::look ? "look"
                                                       : "-";
    out += fmt::format("  {:<5} {:<14} {}\n", mark, replaced_underscores(l.name),
                       printable(l.sentence));
  }
  out += outlier_text(r.kind == CheckedKind::list ? "the list" : "these steps", r.facts.arm);
  if (r.log) out += log_text(*r.log, options);
  const std::vector<std::string> next = record_next(r);
  if (!next.empty()) out += "\nRecord next:\n";
  for (const std::string& what : next) out += "  " + what + '\n';
  for (const std::string& w : r.warnings)
    out += wrapped("note: " + shorten(printable(w), note_width), width);
  return out;
}

Json check_tree(const CheckResult& r) {
  const std::vector<CheckLine> lines = check_lines(r);
  Json checks = Json::array();
  for (const CheckLine& l : lines)
    checks.push_back({{"name", l.name},
                      {"status", name_of(l.status)},
                      {"value", real(l.value)},
                      {"sentence", l.sentence}});
  return {{"schema", "stepscope.check/1"},
          {"version", r.version},
          {"answer", {{"sentence", check_sentence(lines)}}},
          {"input", r.input},
          {"kind", checked_kind_names[static_cast<std::size_t>(r.kind)]},
          {"steps", arm_tree(r.input, r.facts.arm)},
          {"log", !r.log ? Json(nullptr) : log_tree(*r.log)},
          {"checks", std::move(checks)},
          {"record_next", record_next(r)},
          {"warnings", r.warnings}};
}

}  // namespace stepscope

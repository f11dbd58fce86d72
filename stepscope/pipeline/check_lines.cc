// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/check_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

constexpr std::array exposed = {comm_exposed_wait, comm_exposed_transfer, comm_exposed_unsplit};

constexpr std::array idle = {idle_data,   idle_host,       idle_sync,
                             idle_launch, idle_dependency, idle_unexplained};

CheckStatus good_if(bool ok) { return ok ? CheckStatus::good : CheckStatus::look; }

CheckLine steps_line(const ComparedArm& arm, double least_effective) {
  CheckLine line{.name = "steps",
                 .status = good_if(arm.n_eff >= least_effective),
                 .value = arm.n_eff,
                 .sentence = {}};
  line.sentence =
      fmt::format("{}, median {}", counted(arm.steps, "step"), format_time(arm.median_ns));
  if (arm.stdev_ns)
    line.sentence +=
        fmt::format(", standard deviation {}, {} of them effective",
                    format_percent(*arm.stdev_ns / arm.mean_ns), format_digits(arm.n_eff));
  if (line.status == CheckStatus::look)
    line.sentence += fmt::format("; with fewer than {:g} a comparison finds large changes only",
                                 least_effective);
  return line;
}

CheckLine mfu_line(const StepFacts& f, const std::string& why_no_mfu) {
  if (!f.mfu)
    return {.name = "mfu",
            .status = CheckStatus::unknown,
            .value = std::nullopt,
            .sentence = "not known: " + why_no_mfu};
  return {.name = "mfu",
          .status = good_if(*f.mfu >= threshold::little_mfu),
          .value = f.mfu,
          .sentence = fmt::format("{} of the peak{}", format_percent(*f.mfu),
                                  f.hfu ? fmt::format(" (HFU {})", format_percent(*f.hfu)) : "")};
}

CheckLine balance_line(const StepFacts& f) {
  const auto balance = rank_balance(f.ranks);
  if (!balance)
    return {.name = "rank_balance",
            .status = CheckStatus::unknown,
            .value = std::nullopt,
            .sentence = "not known: needs the computing time of two ranks of one role"};
  return {.name = "rank_balance",
          .status = good_if(balance->excess <= threshold::much_imbalance),
          .value = balance->excess,
          .sentence = fmt::format("rank {} computes {} more than the median of its role",
                                  balance->rank, format_percent(balance->excess))};
}

CheckLine straggler_line(const StepFacts& f) {
  CheckLine line{.name = "stragglers",
                 .status = CheckStatus::unknown,
                 .value = std::nullopt,
                 .sentence = "not known: " + (f.why_arrivals_unknown.empty()
                                                  ? "needs two ranks whose clocks can be compared"
                                                  : f.why_arrivals_unknown)};
  if (!f.stragglers.empty()) {
    line.status = CheckStatus::look;
    line.sentence = fmt::format("{}", fmt::join(f.stragglers, "; "));
  } else if (f.arrivals_known) {
    line.status = CheckStatus::good;
    line.sentence = "no rank stands out";
  }
  return line;
}

CheckLine share_line(const StepFacts& f, const char* name,
                     std::span<const BudgetCategory> categories, double much, const char* what) {
  const auto share = budget_share(f.ranks, categories);
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

CheckLine headroom_line(const StepFacts& f, const LogFacts* log) {
  if (const double used = log == nullptr ? 0 : log->account.memory_share.value_or(0);
      used > 0 && used <= 1)
    return {.name = "headroom",
            .status = good_if(1 - used >= threshold::little_headroom),
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
          .status = good_if(share >= threshold::little_headroom),
          .value = share,
          .sentence = fmt::format("{} of {} stay free at the peak",
                                  format_bytes(static_cast<double>(f.headroom->value)),
                                  format_bytes(static_cast<double>(f.capacity->value)))};
}

void ask_of_traces(const JobResult& job, std::vector<std::string>& out) {
  for (const MissingFact& m : missing_facts(job))
    if (!m.record.empty() && m.fact != Fact::stream_waits)
      out.push_back(fmt::format("{} ({}): {}", m.what, m.record, m.gives));
}

}  // namespace

std::vector<CheckLine> check_lines(const StepFacts& f, const LogFacts* log,
                                   const std::string& why_no_mfu, double least_effective) {
  return {
      steps_line(f.arm, least_effective),
      mfu_line(f, why_no_mfu),
      balance_line(f),
      straggler_line(f),
      share_line(f, "communication", exposed, threshold::much_exposed, "is exposed communication"),
      share_line(f, "idle", idle, threshold::much_idle, "is idle"),
      headroom_line(f, log)};
}

std::vector<std::string> record_next(CheckedKind kind, const StepFacts& f, const JobResult* job,
                                     double least_effective) {
  std::vector<std::string> out;
  const ComparedArm& arm = f.arm;
  if (arm.n_eff < least_effective) {
    const double more = std::ceil(least_effective * std::max(arm.correlation_time, 1.0));
    out.push_back(fmt::format("more steps: about {:.0f} for one comparison", more));
  }
  if (kind == CheckedKind::list || kind == CheckedKind::log)
    out.emplace_back("a trace of five steps of every rank: where the time goes needs one");
  if (kind == CheckedKind::train)
    out.emplace_back("a trace (--trace DIR): kernels and idle causes need one");
  if (job != nullptr) ask_of_traces(*job, out);
  if (!f.mfu && kind != CheckedKind::list)
    out.emplace_back("the model (--model NAME --global-batch N --seq N): MFU needs it");
  return out;
}

}  // namespace stepscope

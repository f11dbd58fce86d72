// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/check_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/say/format.h"
#include "stepscope/stats/change_points.h"

namespace stepscope {

namespace {

// The change that lengthened the step most; null without one.
const LogChange* worst_change(const LogAccount& a) {
  const LogChange* worst = nullptr;
  const auto factor = [](const LogChange& c) { return c.after_ns / c.before_ns; };
  for (const LogChange& c : a.changes)
    if (factor(c) > 1 && (worst == nullptr || factor(c) > factor(*worst))) worst = &c;
  return worst;
}

}  // namespace

// What went wrong in the job, the worst first.
Messages log_findings(const LogFacts& of) {
  Messages out;
  if (const auto& loss = of.account.loss; loss && loss->not_finite > 0)
    out.push_back(
        msg::loss_not_finite(step_name(loss->first_not_finite, loss->first_not_finite_epoch),
                             loss->not_finite, !loss->finite));
  const LogChange* const change = worst_change(of.account);
  if (change == nullptr) return out;
  const auto& cause = change->cause;
  out.push_back(msg::step_became_slower(
      change->place, Nanoseconds(change->after_ns), Nanoseconds(change->before_ns),
      cause ? Value(cause->timer) : Value(), cause ? Value(Nanoseconds(cause->after_ns)) : Value(),
      cause ? Value(Nanoseconds(cause->before_ns)) : Value(), of.steps.of_tokens,
      value_if(!change->until.empty(), change->until)));
  return out;
}

namespace {

using enum BudgetCategory;

constexpr std::array exposed = {comm_exposed_wait, comm_exposed_transfer, comm_exposed_unsplit};

constexpr std::array idle = {idle_data,   idle_host,       idle_sync,
                             idle_launch, idle_dependency, idle_unexplained};

CheckStatus good_if(bool ok) { return ok ? CheckStatus::good : CheckStatus::look; }

CheckLine not_known(const char* name, Message why) {
  return {.name = name, .value = std::nullopt, .sentence = msg::not_known(std::move(why))};
}

Message steps_sentence(const CheckResult& c, Value too_few) {
  const ComparedArm& arm = c.facts.arm;
  if (c.log && c.log->steps.of_tokens)
    return msg::tokens_timed(arm.steps, Nanoseconds(arm.median_ns),
                             format_count(1e9 / arm.median_ns), std::move(too_few));
  std::int64_t most = 1;
  bool varies = false;
  if (c.log) {
    const std::vector<LogStep>& steps = c.log->steps.steps;
    for (const LogStep& step : steps) most = std::max(most, step.steps);
    varies = std::ranges::any_of(steps, [&](const LogStep& s) { return s.steps != most; });
    if (steps.size() == 1 && most > 1)
      return msg::one_mean(Nanoseconds(arm.median_ns), most, c.log->steps.steps_rounded,
                           std::move(too_few));
  }
  const ArmWarmUp warm_up = warm_up_of(arm);
  const Value left_out = value_if(warm_up.steps > 0, warm_up.steps);
  const Digits longer{warm_up.times_as_long};
  const Value mean_of = value_if(most > 1, most);
  // A median over both sides of a change is a time that no step took.
  if (c.log && !c.log->account.changes.empty()) {
    const std::vector<LogChange>& changes = c.log->account.changes;
    const LogChange& last = changes.back();
    const Value since = changes.size() > 1 ? Value(changes[changes.size() - 2].place) : Value();
    return msg::steps_changed(arm.steps, Nanoseconds(last.before_ns), Nanoseconds(last.after_ns),
                              last.place, Digits{arm.n_eff}, std::move(too_few), left_out, longer,
                              mean_of, varies, since);
  }
  return msg::steps_counted(arm.steps, Nanoseconds(arm.median_ns),
                            arm.stdev_ns ? Value(Percent{*arm.stdev_ns / arm.mean_ns}) : Value(),
                            Digits{arm.n_eff}, std::move(too_few), left_out, longer, mean_of,
                            varies);
}

CheckLine steps_line(const CheckResult& c) {
  const bool enough = c.facts.arm.n_eff >= c.least_effective;
  return {.name = "steps",
          .status = good_if(enough),
          .value = c.facts.arm.n_eff,
          .sentence = steps_sentence(c, value_if(!enough, Digits{c.least_effective}))};
}

Message change_sentence(const LogChange& change) {
  return msg::time_changes(change.place, Nanoseconds(change.after_ns),
                           Nanoseconds(change.before_ns),
                           value_if(!change.until.empty(), change.until));
}

// What only a log says: whether the step time and the loss stay sound.
void add_log_lines(const LogFacts& of, std::vector<CheckLine>& lines) {
  const LogChange* const slower = worst_change(of.account);
  const std::vector<LogChange>& changes = of.account.changes;
  const LogChange* const change = slower != nullptr || changes.empty() ? slower : &changes.back();
  // Fewer steps cannot show a change, so they do not show that the step time kept its level.
  const bool enough = of.steps.steps.size() >= of.account.warm_up + 2 * ChangeOptions{}.shortest;
  if (enough || change != nullptr)
    lines.push_back({.name = "step_time",
                     .status = good_if(slower == nullptr),
                     .value = std::nullopt,
                     .sentence = change == nullptr ? msg::time_keeps() : change_sentence(*change)});
  const auto& loss = of.account.loss;
  if (!loss) return;
  const bool finite = loss->not_finite == 0;
  const auto digits = [](double l) { return fmt::format("{:.4g}", l); };
  lines.push_back(
      {.name = "loss",
       .status = good_if(finite && !loss->rises),
       .value = std::nullopt,
       .sentence = finite ? msg::loss_goes(digits(loss->first), digits(loss->last),
                                           value_if(loss->rises, digits(loss->least)))
                          : msg::not_finite_from(
                                step_name(loss->first_not_finite, loss->first_not_finite_epoch),
                                loss->not_finite)});
}

CheckLine mfu_line(const CheckResult& c) {
  const StepFacts& f = c.facts;
  if (!c.impossible_mfu.empty())
    return {.name = "mfu",
            .status = CheckStatus::look,
            .value = std::nullopt,
            .sentence = c.impossible_mfu};
  if (!f.mfu) return not_known("mfu", c.why_no_mfu);
  return {.name = "mfu",
          .status = good_if(*f.mfu >= threshold::little_mfu),
          .value = f.mfu,
          .sentence = f.hfu ? msg::mfu_and_hfu(Percent{*f.mfu}, f.mfu_convention, Percent{*f.hfu})
                      : c.recompute_needs_model
                          ? msg::mfu_recompute_unknown(Percent{*f.mfu}, f.mfu_convention)
                          : msg::mfu_alone(Percent{*f.mfu}, f.mfu_convention)};
}

CheckLine balance_line(const StepFacts& f) {
  const auto balance = rank_balance(f.ranks);
  if (!balance) return not_known("rank_balance", msg::needs_two_of_a_role());
  return {.name = "rank_balance",
          .status = good_if(balance->excess <= threshold::much_imbalance),
          .value = balance->excess,
          .sentence = msg::computes_more(balance->rank, Percent{balance->excess})};
}

CheckLine straggler_line(const StepFacts& f, const Messages& late, const StepTimesByRank& times) {
  if (late.empty() && !f.arrivals_known && times.ranks.size() > 1)
    return {.name = "stragglers",
            .status = CheckStatus::good,
            .value = std::nullopt,
            .sentence = msg::no_rank_stands_out_by_times()};
  if (late.empty() && !f.arrivals_known)
    return not_known("stragglers", f.why_arrivals_unknown.empty()
                                       ? msg::needs_two_clocks()
                                       : msg::plain(f.why_arrivals_unknown));
  return {.name = "stragglers",
          .status = good_if(late.empty()),
          .value = std::nullopt,
          .sentence = late.empty() ? msg::no_rank_stands_out() : msg::clauses(late)};
}

CheckLine share_line(const StepFacts& f, const char* name,
                     std::span<const BudgetCategory> categories, double much, MessageMaker<1> is) {
  const auto share = budget_share(f.ranks, categories);
  if (!share) return not_known(name, msg::needs_trace());
  return {.name = name,
          .status = good_if(*share <= much),
          .value = share,
          .sentence = is(Percent{*share})};
}

CheckLine headroom_line(const StepFacts& f, const LogFacts* log) {
  if (const double used = log == nullptr ? 0 : log->account.memory_share.value_or(0);
      used > 0 && used <= 1)
    return {.name = "headroom",
            .status = good_if(1 - used >= threshold::little_headroom),
            .value = 1 - used,
            .sentence = msg::stays_free_by_log(Percent{1 - used})};
  if (!f.headroom || !f.capacity || f.capacity->value <= 0)
    return not_known("headroom", msg::needs_allocator());
  const double share =
      static_cast<double>(f.headroom->value) / static_cast<double>(f.capacity->value);
  return {.name = "headroom",
          .status = good_if(share >= threshold::little_headroom),
          .value = share,
          .sentence = msg::stay_free(*f.headroom, *f.capacity)};
}

CheckLine gpu_line(const GpuUse& use) {
  const bool apart = use.gpus > 1 && use.least < use.mean - threshold::much_idle;
  return {.name = "gpu_utilization",
          .status = good_if(use.mean >= 1 - threshold::much_idle && !apart),
          .value = use.mean,
          .sentence = msg::gpus_in_use(
              Percent{use.mean}, use.gpus, use.readings, use.of_steps,
              value_if(apart && use.of_steps, use.least_gpu),
              value_if(apart && !use.of_steps && use.least_gpu >= 0, use.least_gpu),
              Percent{use.least})};
}

void ask_of_traces(const JobResult& job, Messages& out) {
  for (const MissingFact& m : missing_facts(job))
    if (!m.record.empty() && m.fact != Fact::stream_waits)
      out.push_back(msg::fact_gives(m.what, m.record, m.gives));
}

}  // namespace

std::vector<CheckLine> check_lines(const CheckResult& c) {
  const StepFacts& f = c.facts;
  std::vector<CheckLine> lines = {
      steps_line(c),
      mfu_line(c),
      balance_line(f),
      straggler_line(f, c.late, c.times),
      share_line(f, "communication", exposed, threshold::much_exposed, msg::share_is_exposed),
      share_line(f, "idle", idle, threshold::much_idle, msg::share_is_idle),
      headroom_line(f, c.log ? &*c.log : nullptr)};
  if (c.log) add_log_lines(*c.log, lines);
  if (c.gpu_use) lines.push_back(gpu_line(*c.gpu_use));
  if (c.phases) std::ranges::move(phase_lines(*c.phases), std::back_inserter(lines));
  return lines;
}

Messages record_next(const CheckResult& c) {
  Messages out;
  const ComparedArm& arm = c.facts.arm;
  if (arm.n_eff < c.least_effective)
    out.push_back(msg::next_more_steps(
        Digits{std::ceil(c.least_effective * std::max(arm.correlation_time, 1.0))}));
  if (c.kind == CheckedKind::list || c.kind == CheckedKind::log)
    out.push_back(msg::next_trace_of_ranks());
  if (c.kind == CheckedKind::train) out.push_back(msg::next_trace());
  if (c.job) ask_of_traces(*c.job, out);
  if (!c.facts.mfu && !c.model_given && c.kind != CheckedKind::list)
    out.push_back(msg::next_model());
  return out;
}

}  // namespace stepscope

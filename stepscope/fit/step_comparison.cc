// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/step_comparison.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "stepscope/fit/expected_step.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/fit/plan_evidence.h"

namespace stepscope {
namespace {

using ClassNs = std::array<Ns, step_class_count>;

Ns& at(ClassNs& sums, StepClass c) { return sums[static_cast<std::size_t>(c)]; }

void add_step(const ClassTime& time, const Budget& budget, const Plan& plan, ClassNs& sums) {
  for (std::size_t c = 0; c < name_class_count; ++c)
    at(sums, class_of(static_cast<NameClass>(c))) += time.compute[c];
  for (std::size_t d = 0; d < dimension_count; ++d) {
    const StepClass kind = class_of(static_cast<Dimension>(d), plan);
    at(sums, kind) += time.transfer[d] + time.unsplit[d];
    at(sums, kind == StepClass::pipeline_comm ? StepClass::bubble : StepClass::wait) +=
        time.wait[d];
  }
  at(sums, StepClass::copy) += budget[BudgetCategory::copy_exposed];
  for (std::size_t c = 0; c < budget_category_count; ++c)
    if (is_idle(static_cast<BudgetCategory>(c))) at(sums, StepClass::host) += budget.time[c];
}

// Covers the steps that every rank has.
RankSeconds measured(std::span<const std::int64_t> common, const RankResult& r, const Plan& plan) {
  RankSeconds result{.rank = r.rank};
  ClassNs sums{};
  double steps = 0;
  const AccountedSteps of = accounted_steps(r);
  for (std::size_t i = 0; i < r.counted.classes.size(); ++i) {
    if (!std::ranges::binary_search(common, of.steps[i].index)) continue;
    add_step(r.counted.classes[i], of.budgets[i], plan, sums);
    ++steps;
  }
  for (std::size_t c = 0; c < step_class_count && steps > 0; ++c)
    result.measured[c] = seconds(sums[c]).count() / steps;
  return result;
}

void add_classes(const ExpectedStep& expected, const StepSeconds& mean, StepComparison& result) {
  for (std::size_t c = 0; c < step_class_count; ++c) {
    if (expected.seconds[c] == 0 && mean[c] == 0) continue;
    result.classes.push_back({.kind = static_cast<StepClass>(c),
                              .expected = expected.seconds[c],
                              .recompute = expected.recompute[c],
                              .measured = mean[c]});
  }
  std::ranges::stable_sort(result.classes, std::greater<>(), &ClassComparison::gap);
}

}  // namespace

std::optional<Error> cannot_compare(const JobResult& job) {
  if (job.steps.common.empty()) return Error{.what = "no step to hold against the model"};
  for (const RankResult& r : job.ranks)
    if (r.counted.classes.empty())
      return Error{.what = "rank " + std::to_string(r.rank) +
                           " ran no kernels on a device, and a step's classes are those of kernels",
                   .hint = "operators of a CPU are held against its machine file by their shapes"};
  const auto has = [&](Phase phase) {
    return std::ranges::find(job.steps.phases, phase, &PhaseSummary::phase) !=
           job.steps.phases.end();
  };
  if (has(Phase::forward) && !has(Phase::backward) && !has(Phase::optimizer))
    return Error{
        .what =
            "the traces show a forward pass, no backward and no optimizer: the model's step is one "
            "of training",
        .hint = "expected times by shape need no model"};
  return std::nullopt;
}

Result<StepComparison> compare_step(const JobResult& job, const StepQuestion& question) {
  check(!cannot_compare(job), "a plan is held against steps of a device");
  if (auto error = contradiction(question.plan, job, question.recorded_world))
    return *std::move(error);
  if (const auto checked = check_plan(question.model, question.plan); !checked)
    return checked.error();
  const auto expected =
      expected_step(question.model, question.machine, question.network, question.plan);
  if (!expected) return expected.error();
  StepComparison result{.model = question.model.name,
                        .machine = question.machine.name,
                        .plan = question.plan,
                        .assumptions = expected->assumptions};
  const std::vector<std::int64_t> common = common_steps(job.steps);
  StepSeconds mean{};
  for (const RankResult& r : job.ranks) {
    const RankSeconds& rank = result.ranks.emplace_back(measured(common, r, question.plan));
    for (std::size_t c = 0; c < step_class_count; ++c)
      mean[c] += rank.measured[c] / static_cast<double>(job.ranks.size());
  }
  result.expected = std::accumulate(expected->seconds.begin(), expected->seconds.end(), 0.0);
  result.measured = std::accumulate(mean.begin(), mean.end(), 0.0);
  add_classes(*expected, mean, result);
  return result;
}

}  // namespace stepscope

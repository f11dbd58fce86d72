// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/job_expectation.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/base/number_text.h"
#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/fit/plan_evidence.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

// What the expectation of a job is made from.
struct Asked {
  const JobDescription& given;
  const DescribedJob& job;
  const ParallelSizes& sizes;
};

bool gives_degrees(const ParallelSizes& sizes) { return sizes.tp || sizes.pp || sizes.dp; }

// What the description says of the plan by itself goes before its settings, which go over a file.
void set(PlanSettings& settings, const char* name, std::int64_t n) {
  if (n > 0) settings.fields.push_back({name, std::to_string(n)});
}

bool names(const PlanSettings& settings, std::string_view field) {
  return std::ranges::find(settings.fields, field, &PlanSetting::name) != settings.fields.end();
}

std::optional<std::int64_t> number_of_field(const PlanSettings& settings, std::string_view field) {
  const auto at = std::ranges::find(settings.fields, field, &PlanSetting::name);
  return at == settings.fields.end() ? std::nullopt : number_of<std::int64_t>(at->value);
}

Message no_machine(const JobResult& job) {
  const RankResult& r = job.ranks.front();
  if (r.recording.device_unseen()) return msg::traces_without_device();
  if (r.device.is_cpu()) return msg::traces_of_cpu();
  return r.device.name.empty() ? msg::traces_without_gpu_name()
                               : msg::machine_not_in_catalogue(printable(r.device.name));
}

Result<StepComparison> step_of(const Asked& asked, const Analysis& report,
                               std::optional<int> recorded_world) {
  const Machine& machine = *report.machine;
  const auto network = make_network(machine);
  if (!network) return network.error();
  const auto& ranks = report.job.ranks;
  const std::int64_t cp = number_of_field(asked.given.plan, "cp").value_or(1);
  const auto plan = plan_of_run(asked.given, asked.job, asked.sizes, machine, report.world_size,
                                {.dtype = traced_dtype(ranks),
                                 .micro_batch = traced_micro_batch(ranks, asked.job.sequence, cp)});
  if (!plan) return plan.error();
  return compare_step(report.job, {.model = *asked.job.model,
                                   .machine = machine,
                                   .network = *network,
                                   .plan = *plan,
                                   .recorded_world = recorded_world});
}

void add_step(Expectation& expected, const Asked& asked, const Analysis& report,
              std::optional<int> recorded_world, Messages& remarks, std::vector<Error>& failures) {
  if (const auto why_not = cannot_compare(report.job)) {
    remarks.push_back(msg::no_expected_step(msg::plain(why_not->message())));
    return;
  }
  auto step = step_of(asked, report, recorded_world);
  if (step) {
    for (const std::string& a : step->assumptions)
      if (std::ranges::find(expected.assumptions, a) == expected.assumptions.end())
        expected.assumptions.push_back(a);
    expected.step = std::move(*step);
  } else if ((gives_plan(asked.given.plan) || gives_degrees(asked.sizes))) {
    failures.push_back(step.error());
  } else {
    remarks.push_back(msg::no_expected_step(msg::plain(step.error().message())));
  }
}

}  // namespace

Result<Plan> plan_of_run(const JobDescription& given, const DescribedJob& job,
                         const ParallelSizes& sizes, const Machine& machine,
                         std::optional<int> world, const TracedPlan& traced) {
  PlanSettings source = given.plan;
  set(source, "tp", sizes.tp.value_or(0));
  set(source, "pp", sizes.pp.value_or(0));
  set(source, "dp", sizes.dp.value_or(0));
  set(source, "seq", job.sequence);
  set(source, "global-batch", job.global_batch);
  const bool file = source.plan || !source.plan_file.empty();
  if (!file && !names(source, "dtype") && traced.dtype && *traced.dtype != Dtype::fp64)
    source.fields.push_back({"dtype", std::string(name(*traced.dtype))});
  if (!file && !names(source, "micro-batch") && traced.micro_batch &&
      job.global_batch % *traced.micro_batch == 0)
    set(source, "micro-batch", *traced.micro_batch);
  if (!file) source.gpus = world.value_or(1);
  auto made = make_plan(source, *job.model, machine);
  if (!made) return made.error();
  Plan& plan = made->plan;
  // Without a world in the traces the degrees say how many there are.
  const std::int64_t product = tensor_ranks(plan) * plan.cp * plan.pp * plan.dp;
  if (sizes.dp || (!file && !world)) plan.devices = product;
  if (product != plan.devices && world)
    return Error{.what = fmt::format(
                     "the plan's tp * cp * pp * dp = {} * {} * {} * {} is not the world of {} "
                     "ranks in the traces",
                     plan.tp, plan.cp, plan.pp, plan.dp, *world),
                 .hint = "give the --tp, --pp, --cp and --dp of this run"};
  return plan;
}

std::optional<Expectation> expected_of_job(const JobDescription& given,
                                           const DescribedJob& described,
                                           const ParallelSizes& sizes, const Analysis& report,
                                           std::optional<int> recorded_world, Messages& remarks,
                                           std::vector<Error>& failures) {
  const Asked asked{given, described, sizes};
  const JobResult& job = report.job;
  if (job.ranks.empty()) return std::nullopt;
  if (!report.machine) {
    if (asked.job.model) remarks.push_back(msg::no_expected_times(no_machine(job)));
    return std::nullopt;
  }
  auto expected = expect_by_shapes(job, *report.machine, report.world_size);
  if (!expected) {
    remarks.push_back(msg::no_expected_times(msg::plain(expected.error().message())));
    return std::nullopt;
  }
  if (asked.job.model) add_step(*expected, asked, report, recorded_world, remarks, failures);
  const bool nothing = !expected->step && expected->ranks.empty() && expected->collectives.empty();
  return nothing ? std::nullopt : std::optional(std::move(*expected));
}

}  // namespace stepscope

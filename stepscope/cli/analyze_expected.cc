// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/analyze_expected.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/cli/plan_fields.h"
#include "stepscope/fit/plan_evidence.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

bool gives_plan(const AnalyzeFlags& flags) {
  return flags.tp > 0 || flags.pp > 0 || flags.dp > 0 || !flags.plan.plan_file.empty() ||
         std::ranges::any_of(flags.plan.values, [](const std::string& v) { return !v.empty(); });
}

std::string& value_of(PlanSource& source, std::string_view name) {
  return source.values[static_cast<std::size_t>(find_plan_field(name) - plan_fields().data())];
}

void set(PlanSource& source, std::string_view name, std::int64_t n) {
  if (n > 0) value_of(source, name) = std::to_string(n);
}

std::string no_machine(const JobResult& job) {
  const RankResult& r = job.ranks.front();
  if (r.device_unseen)
    return "no expected times: the traces have no row of the device; record with "
           "ProfilerActivity.CUDA";
  if (r.device == "cpu")
    return "no expected times: these are traces of a CPU, and the catalogue has accelerators only; "
           "give --machine FILE, a machine file of the host (docs/explanation/expected.md)";
  if (r.gpu_name.empty())
    return "no expected times: the traces do not name the GPU; give --machine NAME or FILE";
  return fmt::format(
      "no expected times: the catalogue has no machine \"{}\"; give --machine NAME or FILE",
      printable(r.gpu_name));
}

Result<StepComparison> step_of(const AnalyzeFlags& flags, const Analysis& report,
                               std::optional<int> recorded_world) {
  const Machine& machine = *report.machine;
  const auto network = make_network(machine, {.domain = domain_of(flags.plan)});
  if (!network) return network.error();
  const auto plan = plan_of_run(flags, machine, report.world_size, traced_dtype(report.job));
  if (!plan) return plan.error();
  return compare_step(report.job, {.model = *flags.model,
                                   .machine = machine,
                                   .network = *network,
                                   .plan = *plan,
                                   .recorded_world = recorded_world});
}

void add_step(Expectation& expected, const AnalyzeFlags& flags, const Analysis& report,
              std::optional<int> recorded_world, std::vector<std::string>& remarks,
              Failures& failures) {
  if (const auto why_not = cannot_compare(report.job)) {
    remarks.push_back("no expected step: " + why_not->message());
    return;
  }
  auto step = step_of(flags, report, recorded_world);
  if (step) {
    for (const std::string& a : step->assumptions)
      if (std::ranges::find(expected.assumptions, a) == expected.assumptions.end())
        expected.assumptions.push_back(a);
    expected.step = std::move(*step);
  } else if (gives_plan(flags)) {
    failures.add(step.error());
  } else {
    remarks.push_back("no expected step: " + step.error().message());
  }
}

}  // namespace

Result<Plan> plan_of_run(const AnalyzeFlags& flags, const Machine& machine,
                         std::optional<int> world, std::optional<Dtype> dtype) {
  PlanSource source = flags.plan;
  source.values.resize(plan_fields().size());
  set(source, "tp", flags.tp);
  set(source, "pp", flags.pp);
  set(source, "dp", flags.dp);
  set(source, "seq", flags.sequence);
  set(source, "global-batch", flags.global_batch);
  const bool file = !source.plan_file.empty();
  std::string& format = value_of(source, "dtype");
  if (!file && format.empty() && dtype && *dtype != Dtype::fp64) format = name(*dtype);
  if (!file) source.gpus = world.value_or(1);
  auto made = make_plan(source, *flags.model, machine);
  if (!made) return made.error();
  Plan& plan = made->plan;
  // Without a world in the traces the degrees say how many there are.
  const std::int64_t product = plan.tp * plan.cp * plan.pp * plan.dp;
  if (flags.dp > 0 || (!file && !world)) plan.devices = product;
  if (product != plan.devices && world)
    return Error{.what = fmt::format(
                     "the plan's tp * cp * pp * dp = {} * {} * {} * {} is not the world of {} "
                     "ranks in the traces",
                     plan.tp, plan.cp, plan.pp, plan.dp, *world),
                 .hint = "give the --tp, --pp, --cp and --dp of this run"};
  return plan;
}

std::optional<Expectation> expected_of_job(const AnalyzeFlags& flags, const Analysis& report,
                                           std::optional<int> recorded_world,
                                           std::vector<std::string>& remarks, Failures& failures) {
  const JobResult& job = report.job;
  if (job.ranks.empty()) return std::nullopt;
  if (!report.machine) {
    if (flags.model) remarks.push_back(no_machine(job));
    return std::nullopt;
  }
  auto expected = expect_by_shapes(job, *report.machine, domain_of(flags.plan), report.world_size);
  if (!expected) {
    remarks.push_back("no expected times: " + expected.error().message());
    return std::nullopt;
  }
  if (flags.model) add_step(*expected, flags, report, recorded_world, remarks, failures);
  const bool nothing = !expected->step && expected->ranks.empty() && expected->collectives.empty();
  return nothing ? std::nullopt : std::optional(std::move(*expected));
}

}  // namespace stepscope

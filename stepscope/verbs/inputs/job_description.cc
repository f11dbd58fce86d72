// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/job_description.h"

#include <utility>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/plan_json.h"

namespace stepscope {
namespace {

// A plan file has the batch too.
Result<Done> batch_of_plan(const PlanSettings& source, DescribedJob& job) {
  if (source.plan_file.empty()) return Done{};
  const auto plan = read_plan(source.plan_file);
  if (!plan) return plan.error();
  if (job.global_batch == 0) job.global_batch = plan->batch.global;
  if (job.sequence == 0) job.sequence = plan->batch.sequence;
  return Done{};
}

Result<Done> without_model(const JobDescription& given, DescribedJob& job) {
  if (given.global_batch > 0 || given.sequence > 0)
    return Error{.what = "--global-batch and --seq are of a model", .hint = "give --model NAME"};
  if (gives_plan(given.plan))
    return Error{.what = "a plan is of a model", .hint = "give --model NAME"};
  if (given.model_flops_per_step > 0)
    job.model_flops = {{std::string(flops_as_given), Flops{given.model_flops_per_step}}};
  return Done{};
}

Result<Done> count_model_flops(const JobDescription& given, DescribedJob& job) {
  if (given.model.empty()) return without_model(given, job);
  if (given.model_flops_per_step > 0)
    return Error{.what = "--model and --model-flops-per-step are two answers to one question",
                 .hint = "give one of them"};
  auto model = find_model(given.model);
  if (!model) return model.error();
  if (const auto read = batch_of_plan(given.plan, job); !read) return read.error();
  if (job.sequence == 0 && model->patches) job.sequence = image_tokens(*model->patches);
  if (job.global_batch == 0 || job.sequence == 0)
    return Error{.what = "--model needs the batch of a step",
                 .hint = "give --global-batch N and --seq N"};
  for (std::size_t c = 0; c < flops_convention_count; ++c)
    job.model_flops.push_back(model_flops(*model, job.global_batch * job.sequence, job.sequence,
                                          static_cast<FlopsConvention>(c)));
  job.model = std::move(*model);
  return Done{};
}

Machine with_domain(Machine machine, std::optional<int> domain) {
  if (!domain) return machine;
  if (!machine.scale_up) machine.scale_up.emplace();
  machine.scale_up->domain = domain;
  return machine;
}

}  // namespace

bool gives_plan(const PlanSettings& plan) {
  return plan.plan || !plan.plan_file.empty() || !plan.ds_config.empty() || !plan.fields.empty();
}

Result<DescribedJob> described_job(const JobDescription& given) {
  DescribedJob job{.global_batch = given.global_batch, .sequence = given.sequence};
  job.domain = domain_of(given.plan);
  if (!given.machine.empty()) {
    auto machine = machine_named(given.machine);
    if (!machine) return machine.error();
    job.machine = with_domain(std::move(*machine), job.domain);
  }
  if (!given.peak_dtype.empty()) {
    job.dtype = parse_dtype(given.peak_dtype);
    if (!job.dtype)
      return Error{.what = "--peak-dtype " + given.peak_dtype + " is unknown",
                   .hint = "write bf16, fp16, fp8, tf32 or fp32"};
  }
  if (const auto counted = count_model_flops(given, job); !counted) return counted.error();
  if (given.peak_tflops > 0) job.peak = FlopRate{given.peak_tflops * tera};
  if (given.devices > 0) job.devices = static_cast<int>(given.devices);
  if (given.price_per_gpu_hour > 0) job.price = given.price_per_gpu_hour;
  return job;
}

std::optional<Machine> machine_of(const DescribedJob& job, std::span<const RankResult> ranks) {
  if (job.machine) return job.machine;
  for (const RankResult& r : ranks) {
    if (r.device.name.empty()) continue;
    const Machine* found = find_machine(r.device.name, r.device.memory);
    return found == nullptr ? std::nullopt : std::optional(with_domain(*found, job.domain));
  }
  return std::nullopt;
}

}  // namespace stepscope

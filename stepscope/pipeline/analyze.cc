// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/analyze.h"

#include <utility>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/diagnose/findings.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/fit/message_model.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/pipeline/job_expectation.h"
#include "stepscope/pipeline/job_operations.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/read/job_table/job_table.h"

namespace stepscope {
namespace {

// The name of a file tells its host; merged traces have no such name.
void keep_host_names(std::span<const RankInput> ranks) {
  for (const RankInput& r : ranks)
    if (std::string host = host_of(r.trace->metadata); !host.empty())
      r.trace->metadata.texts.try_emplace("host_name", std::move(host));
}

JobOptions options_of(const AnalyzeRequest& request, const DescribedJob& described,
                      const Progress& progress, std::optional<int> recorded_world) {
  JobOptions options = job_options(request.traces, progress, recorded_world);
  options.timeline = request.timeline;
  if (described.machine) options.messages = message_model(*described.machine, options.world_size);
  return options;
}

// What the account means.
void judge(const AnalyzeRequest& request, const DescribedJob& described,
           std::optional<int> recorded_world, const Progress& progress, AnalyzeResult& result) {
  Analysis& a = result.analysis;
  const Machine* machine = a.machine ? &*a.machine : nullptr;
  std::optional<Error> no_mfu;
  auto mfu = mfu_of_job(a.job, {.model_flops = described.model_flops,
                                .peak = described.peak,
                                .dtype = described.dtype,
                                .price_per_gpu_hour = described.price,
                                .machine = machine,
                                .world_size = a.world_size});
  if (mfu)
    a.mfu = std::move(*mfu);
  else
    no_mfu = mfu.error();
  a.link_fits = fit_transfers(a.job.transfers);
  a.answer = find_verdict(a.job, a.mfu, machine);
  a.findings = find_findings({.job = a.job,
                              .machine = machine,
                              .world_size = a.world_size,
                              .model = described.model ? &*described.model : nullptr});
  a.warnings = analyze_warnings(a, no_mfu);
  if (a.job.explanation)
    for (std::string& w : replay_warnings(*a.job.explanation)) a.warnings.push_back(std::move(w));
  std::vector<Error> failures;
  a.expected = expected_of_job(request.job, described, request.traces.sizes, a, recorded_world,
                               a.warnings, failures);
  for (Error& e : failures) fail(progress, result.failures, std::move(e));
}

}  // namespace

Result<AnalyzeResult> analyze(const AnalyzeRequest& request, const Progress& progress) {
  const auto described = described_job(request.job);
  if (!described) return described.error();
  if (const auto tables = find_job_tables(request.traces.inputs); !tables.empty())
    return analyze_job_operations(request, tables, progress);
  auto read = read_traces(request.traces, progress);
  if (!read) return read.error();
  AnalyzeResult result;
  Analysis& a = result.analysis;
  a.version = version();
  a.inputs = std::move(read->inputs);
  a.read_seconds = read->seconds;
  a.step_annotation = request.traces.step_annotation;
  a.peak_override = described->peak;
  result.failures = std::move(read->failures);
  keep_host_names(read->ranks);
  const JobOptions options = options_of(request, *described, progress, read->run.world_size);
  a.job = analyze_job(read->ranks, options);
  if (a.job.interrupted) return interrupted();
  if (auto none = no_such_steps(request.traces, a.job))
    fail(progress, result.failures, std::move(*none));
  a.world_size = options.world_size ? options.world_size : a.job.collectives.matches.world_size;
  a.machine = machine_of(described->machine, a.job);
  judge(request, *described, read->run.world_size, progress, result);
  result.run = std::move(read->run);
  result.ranks = std::move(read->ranks);
  return result;
}

Result<FittedMachine> machine_of_transfers(const Analysis& a) {
  if (!a.machine)
    return Error{.what = "--write-machine: the device of these traces is not in the catalogue",
                 .hint = "give --machine NAME or FILE to start from"};
  std::string inputs;
  for (const InputRow& i : a.inputs)
    if (inputs.size() < 200) inputs += (inputs.empty() ? "" : ", ") + i.path;
  return fitted_machine(*a.machine, a.job.collectives, a.world_size,
                        "links: stepscope analyze --write-machine, transfers of " + inputs);
}

}  // namespace stepscope

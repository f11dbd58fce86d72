// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/runs/gpu_evidence.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/fit/message_model.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/analyze/job_expectation.h"
#include "stepscope/verbs/analyze/recorded_program.h"
#include "stepscope/verbs/analyze/remedy.h"

namespace stepscope {
namespace {

// The name of a file contains its host; merged traces have no such name.
void keep_host_names(std::span<const RankInput> ranks) {
  for (const RankInput& r : ranks)
    if (std::string host = host_of(r.trace->metadata); !host.empty())
      r.trace->metadata.texts.try_emplace("host_name", std::move(host));
}

JobOptions options_of(const AnalyzeRequest& request, const DescribedJob& described,
                      const Progress& progress, std::optional<int> recorded_world) {
  JobOptions options = job_options(request.traces, progress, recorded_world);
  options.timeline = request.timeline;
  options.details = request.details;
  if (described.machine) options.messages = message_model(*described.machine, options.world_size);
  return options;
}

// Whether a file ends before its first whole step, so that nothing is known.
bool nothing_before_cut(const Analysis& a) {
  return a.job.steps.common.empty() && !cut_sentence(a.inputs, a.job).empty();
}

// Without device rows a file that is cut may be of a CPU, or of a GPU whose rows come later.
void forget_devices(JobResult& job) {
  for (RankResult& r : job.ranks)
    if (r.device.is_cpu()) {
      r.device.kind = "unknown";
      r.device.name = "device not known";
    }
}

// What the recording lacks is said first. Without a whole step there is no verdict and no advice.
void begin_with_recording(Analysis& a) {
  Message lacking = recording_sentence(a.inputs, a.job);
  if (lacking.empty()) return;
  if (a.job.steps.common.empty() || unaccountable(a.job)) {
    a.answer = JobVerdict();
    a.answer.sentence = std::move(lacking);
    a.findings.clear();
    return;
  }
  a.answer.sentence = joined(msg::sentences, {std::move(lacking), a.answer.sentence});
}

// The folder whose traces are just these inputs; empty without such a folder.
std::string folder_of(const std::vector<std::string>& inputs) {
  if (inputs.size() < 2 || std::ranges::any_of(inputs, is_url)) return {};
  const std::filesystem::path folder = std::filesystem::path(inputs.front()).parent_path();
  for (const std::string& input : inputs)
    if (std::filesystem::path(input).parent_path() != folder) return {};
  const std::string name = folder.empty() ? "." : folder.string();
  std::vector<std::string> meant = find_input_files(inputs).files;
  std::vector<std::string> held;
  for (const std::string& file : find_input_files(std::vector{name}).files)
    held.push_back((folder / std::filesystem::path(file).lexically_relative(name)).string());
  std::ranges::sort(meant);
  std::ranges::sort(held);
  return meant == held ? name : std::string{};
}

// A pattern that means just these files: what their names begin and end with alike; empty without
// one.
std::string pattern_of(const std::vector<std::string>& files) {
  if (files.size() < 2 || std::ranges::any_of(files, is_url)) return {};
  const std::string_view first = files.front();
  std::size_t begin = first.size();  // letters that all names begin with
  std::size_t end = first.size();    // and end with
  for (const std::string_view file : files) {
    std::size_t same = 0;
    while (same < std::min(begin, file.size()) && first[same] == file[same]) ++same;
    begin = same;
    for (same = 0; same < std::min(end, file.size()); ++same)
      if (first[first.size() - 1 - same] != file[file.size() - 1 - same]) break;
    end = same;
  }
  end = std::min(end, first.size() - begin);
  const std::string pattern =
      std::string(first.substr(0, begin)) + '*' + std::string(first.substr(first.size() - end));
  const std::vector<std::string> meant = find_input_files(std::vector{pattern}).files;
  return std::ranges::is_permutation(meant, files) ? pattern : std::string{};
}

// The names as a shell takes them; empty if one is secret, or if several are longer than `most`.
std::string names_for_shell(const std::vector<std::string>& names, std::size_t most) {
  std::string words;
  for (const std::string& name : names) {
    const bool secret = shown_name(name) != name;  // or there may be one
    const std::string word = secret ? std::string{} : word_for_shell(name);
    words += (words.empty() ? "" : " ") + word;
    if (word.empty() || (names.size() > 1 && words.size() > most)) return {};
  }
  return words;
}

// The inputs and their flags as a shell takes them: a folder or a pattern for several that are
// long, TRACES where nothing shorter means them.
std::string words_for_shell(const TracesRequest& request) {
  const std::string folder = folder_of(request.inputs);
  std::string words = names_for_shell(folder.empty() ? request.inputs : std::vector{folder}, 80);
  if (words.empty())
    if (const std::string pattern = pattern_of(request.inputs); !pattern.empty())
      words = names_for_shell({pattern}, 0);
  if (words.empty()) words = names_for_shell(request.inputs, 400);
  if (words.empty()) words = "TRACES";
  for (const std::string& flag : request.flags) {
    const std::string word = word_for_shell(flag);
    words += " " + (word.empty() ? "VALUE" : word);
  }
  return words;
}

// The jobs of the inputs, each with the command that analyses it alone.
std::vector<JobRow> job_rows(const Run& run) {
  std::vector<JobRow> rows;
  if (run.jobs.size() < 2) return rows;
  for (const RecordedJob& job : run.jobs) {
    TracesRequest alone;
    for (const std::size_t i : job.files) alone.inputs.push_back(run.inputs[i].path);
    rows.push_back({.command = worded_command("stepscope analyze " + words_for_shell(alone)),
                    .files = job.files.size(),
                    .world_size = job.world,
                    .steps = job.steps,
                    .begin = job.begin});
  }
  return rows;
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
  Message impossible;
  if (mfu && mfu->mfu.value_or(0) > 1)
    impossible = msg::impossible_mfu(Digits{*mfu->mfu}, false);
  else if (mfu)
    a.mfu = std::move(*mfu);
  else
    no_mfu = mfu.error();
  a.link_fits = fit_transfers(a.job.traffic.transfers);
  a.traces = words_for_shell(request.traces);
  a.answer = find_verdict(a.job, a.mfu, machine, a.world_size);
  if (a.answer.culprit.kind == MessageKind::replay_without)  // a verdict knows no inputs
    a.answer.culprit = to_replay(a.answer.culprits.front(), a.traces);
  a.answer.sentence =
      joined(msg::sentences, {impossible, a.answer.sentence, slowed_sentence(a.job)});
  a.findings = find_findings({.job = a.job,
                              .machine = machine,
                              .world_size = a.world_size,
                              .model = described.model ? &*described.model : nullptr});
  // One cause has one confidence: a verdict may rest on less than its finding.
  if (const Finding* said = said_finding(a))
    a.findings[static_cast<std::size_t>(said - a.findings.data())].confidence =
        a.answer.culprits.front().confidence;
  begin_with_recording(a);
  if (nothing_before_cut(a)) {
    a.answer.culprit = msg::copy_again();
    return;
  }
  const bool accounted = !unaccountable(a.job);
  a.warnings = analyze_warnings(a, accounted ? no_mfu : std::nullopt);
  if (!impossible.empty())
    a.warnings.insert(a.warnings.begin(), msg::plain(say_stopped(impossible)));
  if (accounted) append(a.warnings, replay_warnings(a.job));
  std::vector<Error> failures;
  a.expected = expected_of_job(request.job, described, request.traces.sizes, a, recorded_world,
                               a.warnings, failures);
  for (Error& e : failures) fail(progress, result.failures, std::move(e));
}

// Joins the logs of GPUs with the ranks. A log that says nothing is listed with the reason.
void take_gpu_logs(const AnalyzeRequest& request, const ReadTraces& read, Analysis& a) {
  add_gpu_evidence(a.job, read.ranks, read.gpu_logs, a.world_size, request.traces.gpu_log_zone);
  for (const Error& e : read.gpu_log_errors) {
    if (!a.job.gpus) a.job.gpus = GpuEvidence{};
    GpuLogResult& row = a.job.gpus->logs.emplace_back();
    row.path = e.file;
    row.use.problem = msg::plain(e.what + (e.hint.empty() ? "" : "; " + e.hint));
  }
}

}  // namespace

Result<AnalyzeResult> analyze(const AnalyzeRequest& request, const Progress& progress) {
  const auto described = described_job(request.job);
  if (!described) return described.error();
  AnalyzeResult result;
  auto analyzed = analyze_traces(request.traces, progress, [&](const ReadTraces& read) {
    keep_host_names(read.ranks);
    JobOptions options = options_of(request, *described, progress, read.run.world_size);
    if (request.program)
      options.visit = [&](const WhatIfInputs& in) { result.program = recorded_program(in); };
    return options;
  });
  if (!analyzed) return analyzed.error();
  ReadTraces& read = analyzed->read;
  Analysis& a = result.analysis;
  a.version = version();
  a.inputs = std::move(read.inputs);
  a.jobs = job_rows(read.run);
  a.read_seconds = read.seconds;
  a.step_annotation = request.traces.step_annotation;
  a.peak_override = described->peak;
  a.price_per_gpu_hour = described->price;
  result.failures = std::move(read.failures);
  a.job = std::move(analyzed->job);
  if (const auto none = no_such_steps(request.traces, a.job)) {
    fail(progress, result.failures, *none);
    return *none;
  }
  withhold_unfounded(a.job);
  a.job.collectives.matches.left_out = read.ranks_left_out;
  if (auto none = not_in_traces(request.traces, a.job))
    fail(progress, result.failures, std::move(*none));
  const auto world = job_options(request.traces, progress, read.run.world_size).world_size;
  a.world_size = world ? world : a.job.collectives.matches.world_size;
  take_gpu_logs(request, read, a);
  a.job.collectives.matches.hosts.given = described->domain.has_value();
  a.machine = machine_of(*described, a.job.ranks);
  judge(request, *described, read.run.world_size, progress, result);
  if (auto others = commands_for_other_files(request.traces, read); !others.empty())
    a.warnings.push_back(msg::folder_has_others(std::move(others)));
  if (nothing_before_cut(a)) {
    forget_devices(a.job);
    fail(progress, result.failures, no_whole_step(a.inputs, {}));
  }
  result.run = std::move(read.run);
  result.ranks = std::move(read.ranks);
  return result;
}

void add_timeline(const AnalyzeRequest& request, AnalyzeResult& result) {
  JobResult& job = result.analysis.job;
  if (!job.timeline && !result.ranks.empty())
    job.timeline =
        timeline_of(result.ranks, job_options(request.traces, {}, result.run.world_size));
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

// SPDX-License-Identifier: Apache-2.0
// `stepscope check`: a few steps of a trace, of `stepscope train` or of a list, and what they tell
// already.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "stepscope/cli/analyze_flags.h"
#include "stepscope/cli/arm_inputs.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/read/files/input_files.h"
#include "stepscope/read/files/read_trace.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/train_summary.h"
#include "stepscope/report/check_report.h"
#include "stepscope/report/json_report.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

struct CheckFlags {
  AnalyzeFlags analyze;  // inputs, and what MFU needs
  std::string unit = "ms";
  std::string json;
};

void declare(CLI::App& app, CheckFlags& f) {
  app.add_option(
         "INPUT", f.analyze.inputs,
         "traces of one run, a training log, the JSON of stepscope train, or a list of step "
         "times")
      ->required();
  app.add_option("--unit", f.unit, "of lists whose header names none")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  app.add_option("--step-annotation", f.analyze.step_annotation,
                 "what stands before '#' in the steps of traces");
  app.add_option("--model", f.analyze.model_name, "for MFU: a name or a file, as analyze takes it");
  app.add_option("--global-batch", f.analyze.global_batch, "sequences of one step, for --model")
      ->check(CLI::PositiveNumber);
  app.add_option("--seq", f.analyze.sequence, "tokens of a sequence, for --model")
      ->check(CLI::PositiveNumber);
  app.add_option("--model-flops-per-step", f.analyze.model_flops_per_step, "instead of --model")
      ->check(CLI::PositiveNumber);
  app.add_option("--peak-tflops", f.analyze.peak_tflops, "of one device")
      ->check(CLI::PositiveNumber);
  app.add_option("--machine", f.analyze.machine_file, "the device: a name or a file");
  app.add_option("--json", f.json, "write the result to this file (- = standard output)");
  app.footer("Example: stepscope check examples/train_tiny/traces/ddp");
}

// What is kept while the report refers to it.
struct Checked {
  Run run;
  JobResult job;
  struct OfLog {
    JobLog log;
    LogSteps steps;
    LogAccount account;
    LogModel model;
    LogRates rates;
    LogReport report;
  };
  std::unique_ptr<OfLog> log;
  StepFacts facts;
  CheckReport report;
};

void take_mfu(const AnalyzeFlags& flags, Checked& c) {
  const auto mfu = mfu_of_job(c.job, {.model_flops = flags.model_flops,
                                      .peak = flags.peak,
                                      .dtype = flags.dtype,
                                      .price_per_gpu_hour = std::nullopt,
                                      .machine = machine_of(flags, c.job),
                                      .world_size = c.run.world_size});
  if (!mfu) {
    c.report.why_no_mfu = mfu.error().what;
    return;
  }
  c.facts.mfu = mfu->mfu;
  c.facts.hfu = mfu->hfu;
  if (!mfu->mfu) c.report.why_no_mfu = "needs the model's FLOPs";
}

bool check_traces(const CheckFlags& f, const StopFlag& stop, Checked& c, Failures& failures) {
  const InputFiles files = find_input_files(f.analyze.inputs);
  for (const Error& e : files.errors) failures.add(e);
  c.run = read_run(files.files, {.threads = f.analyze.threads, .stop = &stop, .progress = {}});
  for (const InputReport& i : c.run.inputs)
    if (i.error) failures.add(*i.error);
  for (const Error& e : c.run.errors) failures.add(e);
  std::vector<RankInput> ranks;
  for (RankTrace& r : c.run.ranks) ranks.push_back({r.rank, &r.trace});
  if (ranks.empty()) return false;
  JobOptions options;
  options.steps.annotation = f.analyze.step_annotation;
  options.world_size = c.run.world_size;
  options.threads = f.analyze.threads;
  options.stop = &stop;
  options.explain = false;
  c.job = analyze_job(ranks, options);
  if (c.job.interrupted) return false;
  LaunchSteps launch{.name = f.analyze.inputs.front(),
                     .source = fmt::format("trace of {}", counted(ranks.size(), "rank"))};
  for (const JobStep& s : c.job.steps)
    launch.wall_ns.push_back(std::max(1.0, static_cast<double>(s.wall.count())));
  if (launch.wall_ns.empty()) {
    failures.add({.what = "has no step that all ranks share", .file = f.analyze.inputs.front()});
    return false;
  }
  launch.parts = step_parts(c.job, {});
  c.facts = facts_of(c.job);
  c.facts.arm = describe_arm({&launch, 1});
  for (const Straggler& s : c.job.stragglers)
    if (s.significant)
      c.facts.stragglers.push_back(
          fmt::format("rank {} is late{}", s.rank,
                      s.cause ? ": " + cause_and_waiting(*s.cause) : std::string()));
  take_mfu(f.analyze, c);
  c.report.kind = "trace";
  c.report.job = &c.job;
  return true;
}

void take_summary(const TrainSummary& summary, StepFacts& facts) {
  facts.mfu = summary.mfu;
  facts.hfu = summary.hfu;
  facts.stragglers = summary.stragglers;
  facts.arrivals_known = summary.ranks.size() > 1;
  for (const auto& [rank, sums] : summary.ranks) {
    RankFacts r{.rank = rank, .mean = {}};
    for (std::size_t c = 0; c < budget_category_count; ++c) {
      const auto found = sums.budget_ns.find(std::string(budget_category_names[c]));
      if (found == sums.budget_ns.end() || sums.steps == 0) continue;
      r.mean.time[c] =
          Ns{static_cast<std::int64_t>(found->second / static_cast<double>(sums.steps))};
    }
    facts.ranks.push_back(std::move(r));
  }
}

bool check_list(const CheckFlags& f, StepFileKind kind, Checked& c, Failures& failures) {
  const std::string& input = f.analyze.inputs.front();
  auto times = read_step_times(input, *time_unit(f.unit));
  if (!times) return failures.add(times.error()), false;
  const LaunchSteps launch = launch_of(std::move(*times), input, c.report.warnings);
  c.report.kind = kind == StepFileKind::list ? "list" : "train";
  c.report.why_no_mfu =
      kind == StepFileKind::list ? "a list of times does not tell" : "the run has measured no peak";
  if (kind == StepFileKind::train_json) {
    const auto summary = read_train_summary(input);
    if (!summary) return failures.add(summary.error()), false;
    take_summary(*summary, c.facts);
  }
  c.facts.arm = describe_arm({&launch, 1});
  return true;
}

// What the flags say goes over what the log says.
LogModel log_model(const AnalyzeFlags& flags, const JobLog& log, LogAccount& account) {
  if (flags.global_batch > 0) account.batch = static_cast<double>(flags.global_batch);
  if (flags.sequence > 0) account.sequence = static_cast<double>(flags.sequence);
  LogModel model = model_of_log(log, account);
  if (!flags.model) return model;
  model.model = *flags.model;
  model.source = "--model";
  model.why_not.clear();
  return model;
}

std::optional<FlopRate> log_peak(const AnalyzeFlags& flags, const JobLog& log) {
  if (flags.peak) return flags.peak;
  const auto gpu = log.settings.find("gpu");
  const Machine* machine = flags.machine               ? &*flags.machine
                           : gpu != log.settings.end() ? find_machine(gpu->second)
                                                       : nullptr;
  return machine == nullptr ? std::nullopt : peak(*machine, flags.dtype.value_or(Dtype::bf16));
}

bool check_log(const CheckFlags& f, Checked& c, Failures& failures) {
  const std::string& input = f.analyze.inputs.front();
  auto log = read_job_log(input, *time_unit(f.unit));
  if (!log) return failures.add(log.error()), false;
  c.log = std::make_unique<Checked::OfLog>();
  Checked::OfLog& of = *c.log;
  of.log = std::move(*log);
  of.steps = steps_of(of.log);
  if (of.steps.steps.empty()) {
    failures.add({.what = "reports on a job and tells no step time",
                  .file = input,
                  .hint = "log throughput or time stamps too (docs/reference/inputs.md)"});
    return false;
  }
  of.account = account_of(of.log, of.steps);
  of.model = log_model(f.analyze, of.log, of.account);
  of.rates = log_rates(of.log, of.steps, of.account, of.model, log_peak(f.analyze, of.log));
  of.report = {&of.log, &of.steps, &of.account, &of.model, &of.rates};
  LaunchSteps launch{.name = input, .source = std::string(of.steps.tool->label)};
  for (const LogStep& step : of.steps.steps) {
    launch.wall_ns.push_back(step.wall_ns);
    launch.causes.push_back(step.cause);
  }
  c.facts.arm = describe_arm({&launch, 1});
  c.facts.mfu = of.rates.mfu;
  c.report.why_no_mfu = !of.model.model ? of.model.why_not
                        : !log_peak(f.analyze, of.log)
                            ? "needs the peak: give --machine NAME or --peak-tflops N"
                            : "the log does not say on how many devices";
  c.report.kind = "log";
  c.report.log = &of.report;
  c.report.warnings = log_warnings(of.report);
  return true;
}

bool look(const CheckFlags& f, const StopFlag& stop, Checked& c, Failures& failures) {
  std::error_code ignored;
  const std::string& input = f.analyze.inputs.front();
  if (f.analyze.inputs.size() > 1 || !std::filesystem::is_regular_file(input, ignored))
    return check_traces(f, stop, c, failures);
  const auto kind = step_file_kind(input);
  if (!kind) return failures.add(kind.error()), false;
  if (*kind == StepFileKind::trace) return check_traces(f, stop, c, failures);
  if (*kind == StepFileKind::log) return check_log(f, c, failures);
  return check_list(f, *kind, c, failures);
}

int check_input(CheckFlags& f) {
  if (const auto resolved = resolve(f.analyze); !resolved) return refused(resolved.error());
  const StopFlag& stop = stop_on_signals();
  Failures failures;
  Checked c;
  const bool looked = look(f, stop, c, failures);
  if (stop.requested()) return exit_interrupted;
  if (!looked) return exit_failed;
  c.report.version = STEPSCOPE_VERSION;
  c.report.input = f.analyze.inputs.front();
  c.report.facts = &c.facts;
  if (f.json != "-")
    fmt::print("{}", check_text(c.report, {.width = terminal_width(), .colour = wants_colour()}));
  write_json_text(f.json, json_text(check_tree(c.report)), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_check(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  declare(app, *flags);
  return [flags] { return check_input(*flags); };
}

}  // namespace stepscope

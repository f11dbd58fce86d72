// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/gpu_evidence.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/cost/layer/recomputed_flops.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/read/gpu_log/read_gpu_log.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/train_summary.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/check/check_lines.h"
#include "stepscope/verbs/inputs/launches.h"
#include "stepscope/verbs/inputs/other_verbs.h"
#include "stepscope/verbs/inputs/step_inputs.h"

namespace stepscope {
namespace {

// The checklists of traces, whose job was replayed.
void take_checklists(const DescribedJob& r, CheckResult& c) {
  const std::optional<Machine> machine = machine_of(r, c.job->ranks);
  const Machine* known = machine ? &*machine : nullptr;
  const std::vector<Finding> findings = find_findings({.job = *c.job,
                                                       .machine = known,
                                                       .world_size = c.run.world_size,
                                                       .model = r.model ? &*r.model : nullptr});
  c.checklists = checklists({.facts = c.facts,
                             .job = &*c.job,
                             .findings = findings,
                             .machine = known,
                             .world_size = c.run.world_size,
                             .late = c.late,
                             .times_compared = c.times.ranks.size() > 1});
}

// Fills the checklists of an input that is no trace.
void take_checklists(CheckResult& c) {
  const Message lacking = c.kind == CheckedKind::train ? msg::json_of_train_lacks()
                          : c.kind == CheckedKind::log ? msg::log_lacks()
                                                       : msg::list_lacks();
  const double used = c.log ? c.log->account.memory_share.value_or(0) : 0;
  ChecklistInput input{.facts = c.facts,
                       .lacking = lacking,
                       .late = c.late,
                       .times_compared = c.times.ranks.size() > 1};
  if (c.kind == CheckedKind::train) input.no_device = msg::train_has_no_device();
  if (used > 0 && used <= 1) input.memory_share = used;
  c.checklists = checklists(input);
}

void take_mfu(const DescribedJob& r, CheckResult& c) {
  const std::optional<Machine> machine = machine_of(r, c.job->ranks);
  const auto mfu = mfu_of_job(*c.job, {.model_flops = r.model_flops,
                                       .peak = r.peak,
                                       .dtype = r.dtype,
                                       .price_per_gpu_hour = std::nullopt,
                                       .machine = machine ? &*machine : nullptr,
                                       .world_size = r.devices ? r.devices : c.run.world_size});
  if (!mfu) {
    c.why_no_mfu = msg::plain(mfu.error().what);
    return;
  }
  c.facts.mfu = mfu->mfu;
  c.facts.hfu = mfu->hfu;
  c.facts.mfu_convention = mfu->convention;
  if (!mfu->mfu) c.why_no_mfu = msg::needs_model_flops();
}

// `steps` are those of the facts' only launch.
void take_times(std::span<const NumberedStep> steps, std::span<const RankOfStep> ranks,
                CheckResult& c) {
  c.times = step_times_by_rank(steps, ranks, c.facts.arm.launches.front().warm_up);
}

// Numbered as `numbers` say, else by their place.
std::vector<NumberedStep> numbered(std::span<const double> wall_ns,
                                   std::span<const std::int64_t> numbers) {
  std::vector<NumberedStep> steps;
  for (std::size_t i = 0; i < wall_ns.size(); ++i) {
    const bool has = i < numbers.size() && numbers[i] >= 0;
    steps.push_back(
        {.number = has ? numbers[i] : static_cast<std::int64_t>(i), .wall_ns = wall_ns[i]});
  }
  return steps;
}

// A fault of some of the ranks: neither of a group's links, nor of a stage, nor of a step.
bool accuses_ranks(const Culprit& c, const JobResult& job) {
  using enum CulpritKind;
  return is_fault(c.kind) && c.kind != slow_group && c.kind != stage_imbalance &&
         c.kind != outlier_step && !c.ranks.empty() && c.ranks.size() < job.ranks.size();
}

// Where the replay gives the cost of each fault, only its faults accuse: a rank that arrives late
// may be a victim.
Messages late_ranks_of(const JobResult& job) {
  Messages late;
  if (replay_tells(job)) {
    for (const Culprit& c : find_culprits(job))
      if (accuses_ranks(c, job)) late.push_back(c.sentence);
    if (Message latest = latest_in_words(job.stragglers, job.ranks.size());
        late.empty() && !latest.empty())
      late.push_back(std::move(latest));
    return late;
  }
  for (const Straggler& s : job.stragglers)
    if (delays_others(s))
      late.push_back(msg::rank_is_late(s.rank, s.cause ? cause_and_waiting(*s.cause) : Message()));
  return late;
}

Result<Done> check_traces(const CheckRequest& r, const DescribedJob& described,
                          const Progress& progress, CheckResult& c) {
  auto analyzed = analyze_traces(r.traces, progress, [&](const ReadTraces& read) {
    return job_options(r.traces, progress, read.run.world_size);
  });
  if (!analyzed) return analyzed.error();
  ReadTraces& read = analyzed->read;
  c.failures = std::move(read.failures);
  if (read.ranks.empty()) return no_ranks(c.failures, c.input);
  c.job = std::move(analyzed->job);
  withhold_unfounded(*c.job);
  add_gpu_evidence(*c.job, read.ranks, read.gpu_logs, read.run.world_size, r.traces.gpu_log_zone);
  if (c.job->gpus) c.gpu_use = gpu_use_of_steps(*c.job->gpus);
  if (!c.gpu_use) c.gpu_use = gpu_use_of_logs(read.gpu_logs);
  std::ranges::move(read.gpu_log_errors, std::back_inserter(c.failures));
  if (auto others = commands_for_other_files(r.traces, read); !others.empty())
    c.warnings.push_back(msg::folder_has_others(std::move(others)));
  c.run = std::move(read.run);
  LaunchSteps launch{.name = c.input, .source = say(msg::trace_of_ranks(read.ranks.size()))};
  std::vector<NumberedStep> steps;
  for (const Step& s : c.job->steps.counted) {
    launch.wall_ns.push_back(std::max(1.0, static_cast<double>((s.end - s.start).count())));
    steps.push_back({.number = s.index, .wall_ns = launch.wall_ns.back()});
  }
  if (launch.wall_ns.empty()) return no_whole_step(read.inputs, c.input);
  if (const Message cut = cut_sentence(read.inputs, *c.job); !cut.empty())
    c.warnings.push_back(msg::plain(say_stopped(cut)));
  launch.parts = step_parts(*c.job, {});
  c.facts = facts_of(*c.job);
  c.facts.arm = describe_arm({&launch, 1});
  std::vector<RankOfStep> ranks;
  for (const RankResult& rank : c.job->ranks)
    for (const Step& s : rank.steps)
      ranks.push_back({.rank = rank.rank,
                       .number = s.index,
                       .wall_ns = static_cast<double>((s.end - s.start).count())});
  take_times(steps, ranks, c);
  c.late = late_ranks_of(*c.job);
  take_mfu(described, c);
  if (r.list) take_checklists(described, c);
  c.kind = CheckedKind::trace;
  return Done{};
}

void take_summary(const TrainSummary& summary, CheckResult& result) {
  StepFacts& facts = result.facts;
  facts.mfu = summary.mfu;
  facts.hfu = summary.hfu;
  facts.mfu_convention = flops_convention_names.front();
  if (summary.late) result.late.push_back(msg::plain(*summary.late));
  facts.arrivals_known = summary.judged && summary.ranks.size() > 1;
  facts.why_arrivals_unknown = summary.why_unjudged;
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

// A sentence for each rank whose steps are much longer than those of its peers, the slowest first;
// of many the first three, and how many more.
Messages slow_ranks(const StepTimesByRank& times) {
  std::vector<std::pair<double, int>> slow;
  for (const RankStatistics& rank : times.ranks)
    if (rank.deviation && *rank.deviation > threshold::much_imbalance)
      slow.emplace_back(-*rank.deviation, rank.rank);
  std::ranges::sort(slow);
  constexpr std::size_t max_named = 3;
  Messages sentences;
  for (std::size_t i = 0; i < std::min(max_named, slow.size()); ++i)
    sentences.push_back(msg::slow_rank_by_times(slow[i].second, Percent{-slow[i].first}));
  if (slow.size() > max_named) sentences.push_back(msg::more_slow_ranks(slow.size() - max_named));
  return sentences;
}

// FLOPs that a step repeats; absent if nobody says whether it repeats any, or which. Without a
// model full recomputation repeats the forward pass: a third of `given`, the FLOPs of the model.
std::optional<Flops> repeated_flops(std::optional<Recompute> how, const Transformer* model,
                                    std::int64_t batch, std::int64_t sequence,
                                    std::optional<Flops> given) {
  if (!how) return std::nullopt;
  if (*how == Recompute::none) return Flops{};
  if (model == nullptr || batch <= 0 || sequence <= 0) {
    if (*how != Recompute::full || !given) return std::nullopt;
    return Flops{given->value / 3};
  }
  Plan plan;
  plan.batch.global = batch;
  plan.batch.sequence = sequence;
  plan.memory.recompute = *how;
  const std::array layers = {model->layers};
  return recomputed_flops(*model, plan, layers);
}

// MFU and HFU by the median step alone, or what they need.
void take_rates_of_times(const CheckRequest& request, const DescribedJob& r, CheckResult& c) {
  std::optional<FlopRate> at = r.peak;
  if (!at && r.machine) at = peak(*r.machine, r.dtype.value_or(Dtype::bf16));
  Messages needs;
  if (r.model_flops.empty()) needs.push_back(msg::needs_model());
  if (!at && r.machine)
    needs.push_back(msg::machine_lacks_peak(r.machine->name,
                                            dtype_names[index(r.dtype.value_or(Dtype::bf16))]));
  else if (!at)
    needs.push_back(msg::needs_peak());
  if (!r.devices) needs.push_back(msg::needs_devices());
  if (!needs.empty()) {
    c.why_no_mfu = msg::clauses(std::move(needs));
    return;
  }
  const double at_peak = c.facts.arm.median_ns / 1e9 * *r.devices * at.value_or(FlopRate{}).value;
  const Flops model = r.model_flops.front().per_step;
  c.facts.mfu = model.value / at_peak;
  c.facts.mfu_convention = r.model_flops.front().convention;
  const auto again = repeated_flops(request.recompute, r.model ? &*r.model : nullptr,
                                    r.global_batch, r.sequence, model);
  if (again) c.facts.hfu = (model + *again).value / at_peak;
  c.recompute_needs_model = request.recompute && !again;
}

Result<Done> check_times(const CheckRequest& r, const DescribedJob& described, StepFileKind kind,
                         Result<StepTimes> times, CheckResult& c) {
  if (!times) return times.error();
  const std::vector<NumberedStep> steps = numbered(times->wall_ns, times->iterations);
  std::vector<RankOfStep> ranks;
  for (const RankStepTime& t : times->ranks)
    ranks.push_back({.rank = t.rank, .number = t.iteration, .wall_ns = t.wall_ns});
  const StepParts parts = std::move(times->parts);
  const bool list = kind == StepFileKind::list;
  const LaunchSteps launch = launch_of(std::move(*times), c.input, c.warnings);
  if (list && launch.source == "lists" && ranks.empty())
    c.warnings.push_back(msg::taken_as_steps(c.input));
  c.kind = list ? CheckedKind::list : CheckedKind::train;
  c.why_no_mfu = msg::run_has_no_peak();
  if (kind == StepFileKind::train_json) {
    const auto summary = read_train_summary(c.input);
    if (!summary) return summary.error();
    take_summary(*summary, c);
  }
  c.facts.arm = describe_arm({&launch, 1});
  take_times(steps, ranks, c);
  c.phases = phase_times(parts, c.times.counted_from);
  for (Message& slow : slow_ranks(c.times)) c.late.push_back(std::move(slow));
  if (list) take_rates_of_times(r, described, c);
  return Done{};
}

// What the request says goes over what the log says.
LogModel log_model(const DescribedJob& r, const JobLog& log, LogAccount& account) {
  if (r.global_batch > 0) account.batch = static_cast<double>(r.global_batch);
  if (r.sequence > 0) account.sequence = static_cast<double>(r.sequence);
  if (r.devices) account.devices = *r.devices;
  LogModel model = model_of_log(log, account);
  if (!r.model_flops.empty() && r.model_flops.front().convention == flops_as_given)
    model.flops_per_step = r.model_flops.front().per_step;
  if (!r.model) return model;
  model.model = *r.model;
  model.source = "--model";
  model.why_not.clear();
  return model;
}

const Machine* log_machine(const DescribedJob& r, const JobLog& log) {
  if (r.machine) return &*r.machine;
  const auto gpu = log.settings.find("gpu");
  return gpu == log.settings.end() ? nullptr : find_machine(gpu->second);
}

// The type of the products: as given, as the log's arguments say, or bf16.
Dtype log_dtype(const DescribedJob& r, const JobLog& log) {
  if (r.dtype) return *r.dtype;
  const auto is = [&](std::string_view name, std::string_view value) {
    const auto found = log.settings.find(name);
    return found != log.settings.end() && found->second == value;
  };
  const bool half =
      is("params_dtype", "torch.float16") || is("fp16", "True") || is("fp16_enabled", "True");
  return half ? Dtype::fp16 : Dtype::bf16;
}

std::optional<FlopRate> log_peak(const DescribedJob& r, const JobLog& log) {
  if (r.peak) return r.peak;
  const Machine* machine = log_machine(r, log);
  return machine == nullptr ? std::nullopt : peak(*machine, log_dtype(r, log));
}

// What the log says of recomputation, where the request does not.
std::optional<Recompute> recompute_of(const CheckRequest& request, const LogFacts& of) {
  if (request.recompute) return request.recompute;
  if (!of.model.recompute) return std::nullopt;
  const auto granularity = of.log.settings.find("recompute_granularity");
  const bool selective = granularity != of.log.settings.end() && granularity->second == "selective";
  return selective ? Recompute::selective : Recompute::full;
}

void take_hfu(const CheckRequest& request, const LogFacts& of, FlopRate peak, CheckResult& c) {
  const LogModel& m = of.model;
  const auto how = recompute_of(request, of);
  const auto again = repeated_flops(how, m.model ? &*m.model : nullptr, m.batch.value_or(0),
                                    m.sequence.value_or(0), m.flops_per_step);
  c.recompute_needs_model = how && !again;
  if (again && m.devices && of.account.median_ns > 0)
    c.facts.hfu =
        *c.facts.mfu + again->value / (of.account.median_ns / 1e9 * *m.devices * peak.value);
}

// Where a log has rates only, the batch gives the time of a step.
void take_time_of_steps(const DescribedJob& r, const JobLog& log, LogSteps& steps) {
  if (!steps.of_tokens) return;
  const auto given = [&](std::int64_t flag, std::string_view setting) {
    return flag > 0 ? std::optional(static_cast<double>(flag)) : setting_of(log, setting);
  };
  const auto batch = given(r.global_batch, "global_batch_size");
  const auto sequence = given(r.sequence, "seq_length");
  const auto devices =
      r.devices ? std::optional(static_cast<double>(*r.devices)) : setting_of(log, "world_size");
  if (!batch || !sequence || !devices) return;
  for (LogStep& step : steps.steps) step.wall_ns *= *batch * *sequence / *devices;
  steps.of_tokens = false;
  steps.how = "the batch's tokens / tokens/s of all devices";
}

Result<Done> check_log(const CheckRequest& request, const DescribedJob& r, const StopFlag* stop,
                       CheckResult& c) {
  auto log = read_job_log(c.input, request.reading, stop);
  if (!log) return log.error();
  LogFacts& of = c.log.emplace();
  of.log = std::move(*log);
  of.steps = steps_of(of.log);
  if (of.steps.steps.empty()) return no_step_time(of.log, c.input);
  take_time_of_steps(r, of.log, of.steps);
  of.account = account_of(of.log, of.steps);
  of.model = log_model(r, of.log, of.account);
  const auto peak = log_peak(r, of.log);
  of.rates = log_rates(of.log, of.steps, of.account, of.model, peak);
  LaunchSteps launch{.name = c.input, .source = std::string(of.steps.tool->label)};
  std::vector<std::int64_t> iterations;
  for (const LogStep& step : of.steps.steps) {
    launch.wall_ns.push_back(step.wall_ns);
    launch.causes.push_back(step.cause);
    iterations.push_back(step.iteration);
  }
  if (std::ranges::none_of(iterations, [](std::int64_t n) { return n < 0; }))
    launch.numbers = iterations;
  c.facts.arm = describe_arm({&launch, 1});
  take_times(numbered(launch.wall_ns, iterations), {}, c);
  c.facts.mfu = of.rates.mfu;
  c.facts.mfu_convention = of.rates.mfu_convention;
  if (c.facts.mfu) take_hfu(request, of, *peak, c);
  Messages needs;
  if (!of.model.model && !of.model.flops_per_step) needs.push_back(msg::plain(of.model.why_not));
  if (const Machine* machine = log_machine(r, of.log); !peak && machine != nullptr)
    needs.push_back(
        msg::machine_lacks_peak(machine->name, dtype_names[index(log_dtype(r, of.log))]));
  else if (!peak)
    needs.push_back(msg::needs_peak());
  if (!of.account.devices) needs.push_back(msg::needs_devices());
  if (of.model.model && !(of.model.batch && of.model.sequence)) needs.push_back(msg::needs_batch());
  c.why_no_mfu = msg::clauses(std::move(needs));
  c.kind = CheckedKind::log;
  c.warnings = log_warnings(of);
  if (!of.rates.contradiction.empty()) c.warnings.push_back(of.rates.contradiction);
  if (of.steps.unit_assumed && !request.reading.unit)
    c.warnings.push_back(msg::unit_assumed(c.input));
  c.lead = log_findings(of);
  return Done{};
}

// No device is faster than its peak: the model FLOPs, the batch, the devices or the peak are wrong,
// and no MFU follows from them. The HFU of traces is that of the recorded operations, not of the
// model.
void refuse_impossible_mfu(CheckResult& c) {
  StepFacts& f = c.facts;
  const bool of_model = f.mfu > 1.0;
  const bool repeated = !of_model && f.mfu && c.kind != CheckedKind::trace && f.hfu > 1.0;
  if (!of_model && !repeated) return;
  c.impossible_mfu = msg::impossible_mfu(Digits{of_model ? *f.mfu : *f.hfu}, repeated);
  f.mfu.reset();
  f.hfu.reset();
  f.mfu_convention.clear();
  if (!c.log) return;
  for (LogRate& rate : c.log->rates.rates) {
    if (!(rate.mfu > 1.0)) continue;
    rate.mfu.reset();
    if (rate.is_mfu) rate.ours.reset();
  }
}

// One MFU gives that of the other conventions; without one nothing is stated.
void settle_conventions(CheckResult& c) {
  const auto stated = std::ranges::find(c.mfu_conventions, c.facts.mfu_convention,
                                        [](const ConventionMfu& m) { return m.model.convention; });
  if (!c.facts.mfu || stated == c.mfu_conventions.end() || !(stated->model.per_step.value > 0))
    return c.mfu_conventions.clear();
  const double of_one = *c.facts.mfu / stated->model.per_step.value;
  for (ConventionMfu& m : c.mfu_conventions) m.mfu = m.model.per_step.value * of_one;
}

// The files of lists: one of each rank. Empty if an input is something else.
std::vector<std::string> rank_files(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    std::error_code failed;
    if (!std::filesystem::is_directory(input, failed)) {
      files.push_back(input);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(input, failed))
      if (entry.is_regular_file(failed)) inside.push_back(entry.path().string());
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  for (const std::string& file : files)
    if (const auto kind = step_file_kind(file); !kind || *kind != StepFileKind::list) return {};
  return files;
}

// Reads the logs of GPUs that come with an input that is no trace. Traces read theirs.
Result<Done> take_gpu_logs(std::span<const std::string> paths, const StopFlag* stop,
                           CheckResult& c) {
  std::vector<GpuLog> logs;
  for (const std::string& path : paths) {
    auto log = read_gpu_log(path, stop);
    if (log)
      logs.push_back(*std::move(log));
    else if (log.error().code == ErrorCode::interrupted)
      return log.error();
    else
      c.failures.push_back(log.error());
  }
  c.gpu_use = gpu_use_of_logs(logs);
  return Done{};
}

Error gpu_log_alone(const std::string& path, const StopFlag* stop) {
  const auto log = read_gpu_log(path, stop);
  if (!log) return log.error();
  return {.what = "is a log of GPUs, and has no step",
          .file = path,
          .hint = "give the traces, the log or the step times of its job with it"};
}

// The batch alone makes times of a log's rates. With other inputs it is of a model.
Result<DescribedJob> described_for(const CheckRequest& r, std::span<const std::string> inputs,
                                   const StopFlag* stop) {
  if (inputs.size() != 1 || !may_be_file(inputs.front()) || !r.job.model.empty())
    return described_job(r.job);
  const auto kind = kind_of_steps(inputs.front(), r.reading, stop);
  if (!kind || *kind != StepFileKind::log) return described_job(r.job);
  JobDescription without_batch = r.job;
  without_batch.global_batch = without_batch.sequence = 0;
  auto described = described_job(without_batch);
  if (!described) return described;
  described->global_batch = r.job.global_batch;
  described->sequence = r.job.sequence;
  return described;
}

Result<Done> look(const CheckRequest& r, const Progress& progress, CheckResult& c) {
  std::vector<std::string> inputs = r.traces.inputs;
  const std::vector<std::string> gpu_logs = find_gpu_logs(inputs);
  std::erase_if(inputs, [&](const std::string& input) {
    return std::ranges::find(gpu_logs, input) != gpu_logs.end();
  });
  if (inputs.empty() && !gpu_logs.empty()) return gpu_log_alone(gpu_logs.front(), progress.stop);
  const auto described = described_for(r, inputs, progress.stop);
  if (!described) return described.error();
  c.model_given = !described->model_flops.empty();
  for (const ModelFlops& model : described->model_flops)
    c.mfu_conventions.push_back({.model = model});
  if (!inputs.empty()) c.input = inputs.front();
  if (inputs.size() > 1 || !may_be_file(c.input)) {
    const std::vector<std::string> lists = rank_files(inputs);
    if (lists.empty()) return check_traces(r, *described, progress, c);
    if (const auto logs = take_gpu_logs(gpu_logs, progress.stop, c); !logs) return logs.error();
    return check_times(r, *described, StepFileKind::list,
                       read_rank_files(lists, r.reading, progress.stop), c);
  }
  const auto kind = kind_of_steps(c.input, r.reading, progress.stop);
  if (!kind) return kind.error();
  if (*kind == StepFileKind::trace) return check_traces(r, *described, progress, c);
  if (const auto logs = take_gpu_logs(gpu_logs, progress.stop, c); !logs) return logs.error();
  if (*kind == StepFileKind::log) return check_log(r, *described, progress.stop, c);
  return check_times(r, *described, *kind, read_step_times(c.input, r.reading, progress.stop), c);
}

}  // namespace

Result<CheckResult> check(const CheckRequest& request, const Progress& progress) {
  if (request.traces.inputs.empty()) return Error{.what = "the input is missing"};
  CheckResult c{
      .version = std::string(version()), .input = request.traces.inputs.front(), .facts = {}};
  if (const auto looked = look(request, progress, c); !looked)
    return looked.error().file == c.input ? with_other_verbs(looked.error()) : looked.error();
  if (progress.stopped()) return interrupted();
  refuse_impossible_mfu(c);
  settle_conventions(c);
  if (request.list && !c.job) take_checklists(c);
  c.lines = check_lines(c);
  c.record_next = record_next(c);
  return c;
}

}  // namespace stepscope

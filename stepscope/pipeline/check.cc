// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/needs.h"
#include "stepscope/diagnose/recording_words.h"
#include "stepscope/diagnose/straggler_words.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/pipeline/launches.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/train_summary.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// The checklists of traces, whose job was replayed.
void take_checklists(const DescribedJob& r, CheckResult& c) {
  const std::optional<Machine> machine = machine_of(r.machine, *c.job);
  const Machine* known = machine ? &*machine : nullptr;
  const std::vector<Finding> findings = find_findings({.job = *c.job,
                                                       .machine = known,
                                                       .world_size = c.run.world_size,
                                                       .model = r.model ? &*r.model : nullptr});
  c.checklists = checklists({.facts = c.facts,
                             .job = &*c.job,
                             .findings = findings,
                             .machine = known,
                             .world_size = c.run.world_size});
}

// Those of an input that is no trace.
void take_checklists(CheckResult& c) {
  const Message lacking = c.kind == CheckedKind::train ? msg::json_of_train_lacks()
                          : c.kind == CheckedKind::log ? msg::log_lacks()
                                                       : msg::list_lacks();
  const double used = c.log ? c.log->account.memory_share.value_or(0) : 0;
  ChecklistInput input{.facts = c.facts, .lacking = lacking};
  if (c.kind == CheckedKind::train) input.no_device = msg::train_has_no_device();
  if (used > 0 && used <= 1) input.memory_share = used;
  c.checklists = checklists(input);
}

void take_mfu(const DescribedJob& r, CheckResult& c) {
  const std::optional<Machine> machine = machine_of(r.machine, *c.job);
  const auto mfu = mfu_of_job(*c.job, {.model_flops = r.model_flops,
                                       .peak = r.peak,
                                       .dtype = r.dtype,
                                       .price_per_gpu_hour = std::nullopt,
                                       .machine = machine ? &*machine : nullptr,
                                       .world_size = c.run.world_size});
  if (!mfu) {
    c.why_no_mfu = mfu.error().what;
    return;
  }
  c.facts.mfu = mfu->mfu;
  c.facts.hfu = mfu->hfu;
  if (!mfu->mfu) c.why_no_mfu = "needs the model's FLOPs";
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

// Where the replay tells what each fault costs, only its faults
// accuse: a rank that arrives late may be a victim.
std::vector<std::string> late_ranks_of(const JobResult& job) {
  std::vector<std::string> late;
  if (replay_tells(job)) {
    for (const Culprit& c : find_culprits(job))
      if (accuses_ranks(c, job)) late.push_back(say(c.sentence));
    return late;
  }
  for (const Straggler& s : job.stragglers)
    if (s.significant)
      late.push_back(
          say(msg::rank_is_late(s.rank, s.cause ? cause_and_waiting(*s.cause) : Message())));
  return late;
}

Result<Done> check_traces(const CheckRequest& r, const DescribedJob& described,
                          const Progress& progress, CheckResult& c) {
  auto read = read_traces(r.traces, progress);
  if (!read) return read.error();
  c.failures = std::move(read->failures);
  if (read->ranks.empty()) return no_ranks(c.failures, c.input);
  JobOptions options = job_options(r.traces, progress, read->run.world_size);
  c.job = analyze_job(read->ranks, options);
  if (c.job->interrupted) return interrupted();
  withhold_unfounded(*c.job);
  c.run = std::move(read->run);
  LaunchSteps launch{.name = c.input,
                     .source = fmt::format("trace of {}", counted(read->ranks.size(), "rank"))};
  std::vector<NumberedStep> steps;
  for (const Step& s : c.job->counted) {
    launch.wall_ns.push_back(std::max(1.0, static_cast<double>((s.end - s.start).count())));
    steps.push_back({.number = s.index, .wall_ns = launch.wall_ns.back()});
  }
  if (launch.wall_ns.empty()) return no_whole_step(read->inputs, c.input);
  if (const Message cut = cut_sentence(read->inputs, *c.job); !cut.empty())
    c.warnings.push_back(say_stopped(cut));
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
  c.facts.stragglers = late_ranks_of(*c.job);
  take_mfu(described, c);
  if (r.list) take_checklists(described, c);
  c.kind = CheckedKind::trace;
  return Done{};
}

void take_summary(const TrainSummary& summary, StepFacts& facts) {
  facts.mfu = summary.mfu;
  facts.hfu = summary.hfu;
  if (summary.late) facts.stragglers.push_back(*summary.late);
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
std::vector<std::string> slow_ranks(const StepTimesByRank& times) {
  std::vector<std::pair<double, int>> slow;
  for (const RankStatistics& rank : times.ranks)
    if (rank.deviation && *rank.deviation > threshold::much_imbalance)
      slow.emplace_back(-*rank.deviation, rank.rank);
  std::ranges::sort(slow);
  constexpr std::size_t most = 3;
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < std::min(most, slow.size()); ++i)
    sentences.push_back(
        fmt::format("a step of rank {} takes {} longer than that of the median rank",
                    slow[i].second, format_percent(-slow[i].first)));
  if (slow.size() > most)
    sentences.push_back(counted(slow.size() - most, "more rank") + " likewise, by less");
  return sentences;
}

Result<Done> check_list(const CheckRequest& r, StepFileKind kind, const StopFlag* stop,
                        CheckResult& c) {
  auto times = read_step_times(c.input, r.unit, stop);
  if (!times) return times.error();
  const std::vector<NumberedStep> steps = numbered(times->wall_ns, times->iterations);
  std::vector<RankOfStep> ranks;
  for (const RankStepTime& t : times->ranks)
    ranks.push_back({.rank = t.rank, .number = t.iteration, .wall_ns = t.wall_ns});
  const LaunchSteps launch = launch_of(std::move(*times), c.input, c.warnings);
  const bool list = kind == StepFileKind::list;
  c.kind = list ? CheckedKind::list : CheckedKind::train;
  c.why_no_mfu = list ? "a list of times does not tell" : "the run has measured no peak";
  if (kind == StepFileKind::train_json) {
    const auto summary = read_train_summary(c.input);
    if (!summary) return summary.error();
    take_summary(*summary, c.facts);
  }
  c.facts.arm = describe_arm({&launch, 1});
  take_times(steps, ranks, c);
  for (std::string& slow : slow_ranks(c.times)) c.facts.stragglers.push_back(std::move(slow));
  return Done{};
}

// What the request says goes over what the log says.
LogModel log_model(const DescribedJob& r, const JobLog& log, LogAccount& account) {
  if (r.global_batch > 0) account.batch = static_cast<double>(r.global_batch);
  if (r.sequence > 0) account.sequence = static_cast<double>(r.sequence);
  LogModel model = model_of_log(log, account);
  if (!r.model_flops.empty() && r.model_flops.front().convention == flops_as_given)
    model.flops_per_step = r.model_flops.front().per_step;
  if (!r.model) return model;
  model.model = *r.model;
  model.source = "--model";
  model.why_not.clear();
  return model;
}

std::optional<FlopRate> log_peak(const DescribedJob& r, const JobLog& log) {
  if (r.peak) return r.peak;
  const auto gpu = log.settings.find("gpu");
  const Machine* machine = r.machine                   ? &*r.machine
                           : gpu != log.settings.end() ? find_machine(gpu->second)
                                                       : nullptr;
  return machine == nullptr ? std::nullopt : peak(*machine, r.dtype.value_or(Dtype::bf16));
}

Result<Done> check_log(const CheckRequest& request, const DescribedJob& r, const StopFlag* stop,
                       CheckResult& c) {
  auto log = read_job_log(c.input, request.unit, stop);
  if (!log) return log.error();
  LogFacts& of = c.log.emplace();
  of.log = std::move(*log);
  of.steps = steps_of(of.log);
  if (of.steps.steps.empty())
    return Error{.what = "reports on a job and tells no step time",
                 .file = c.input,
                 .hint = "log throughput or time stamps too (docs/reference/inputs.md)"};
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
  c.facts.arm = describe_arm({&launch, 1});
  take_times(numbered(launch.wall_ns, iterations), {}, c);
  c.facts.mfu = of.rates.mfu;
  c.why_no_mfu = !of.model.model && !of.model.flops_per_step ? of.model.why_not
                 : !peak ? "needs the peak: give --machine NAME or --peak-tflops N"
                         : "the log does not say on how many devices";
  c.kind = CheckedKind::log;
  c.warnings = say_all(log_warnings(of));
  return Done{};
}

Result<Done> look(const CheckRequest& r, const Progress& progress, CheckResult& c) {
  const auto described = described_job(r.job);
  if (!described) return described.error();
  if (r.traces.inputs.size() > 1 || !may_be_file(c.input))
    return check_traces(r, *described, progress, c);
  const auto kind = step_file_kind(c.input);
  if (!kind) return kind.error();
  if (*kind == StepFileKind::trace) return check_traces(r, *described, progress, c);
  if (*kind == StepFileKind::log) return check_log(r, *described, progress.stop, c);
  return check_list(r, *kind, progress.stop, c);
}

}  // namespace

Result<CheckResult> check(const CheckRequest& request, const Progress& progress) {
  if (request.traces.inputs.empty()) return Error{.what = "the input is missing"};
  CheckResult c{
      .version = std::string(version()), .input = request.traces.inputs.front(), .facts = {}};
  if (const auto looked = look(request, progress, c); !looked) return looked.error();
  if (progress.stopped()) return interrupted();
  if (request.list && !c.job) take_checklists(c);
  c.lines = check_lines(c.facts, c.log ? &*c.log : nullptr, c.why_no_mfu, c.least_effective);
  c.record_next = record_next(c.kind, c.facts, c.job ? &*c.job : nullptr, c.least_effective);
  return c;
}

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

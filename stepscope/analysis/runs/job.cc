// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/job.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/op_work.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/base/number_text.h"
#include "stepscope/stats/summary.h"

namespace stepscope {

// Each process sets it to its own pool of the rank.
template <>
struct Plain<const StringPool*> {
  static void append(std::string&, const StringPool* const&) {}
  static bool take(std::string_view&, const StringPool*&) { return true; }
};

namespace {

// What the account of one rank gives.
struct Accounted {
  RankResult rank;
  HostPhases phases;
};

// Data per rank that is built before the job's questions.
struct Prepared {
  RankIndex index;
  std::vector<Step> steps;
  std::optional<std::pair<std::int64_t, std::int64_t>> recorded;  // first and last Step::index
  IncompleteSteps incomplete;                                     // not among `steps`
};

void list_cuts(std::span<const RankInput> ranks, std::span<const Prepared> prepared,
               JobResult& job) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Prepared& p = prepared[i];
    if (ranks[i].trace->notes.cuts.empty()) continue;
    CutRank& cut = job.cut.emplace_back();
    cut.rank = ranks[i].rank;
    cut.whole = p.steps.size();
    cut.window = p.incomplete.cut.size() == 1 && p.incomplete.cut.front().name == "window";
    for (const Step& step : p.incomplete.cut) cut.steps.push_back(step.index);
  }
}

bool incomplete_on(const JobResult& job, const RankResult& rank, std::int64_t index) {
  return std::ranges::binary_search(rank.recording.lost_steps, index) ||
         std::ranges::any_of(job.cut, [&](const CutRank& cut) {
           return cut.rank == rank.rank && std::ranges::binary_search(cut.steps, index);
         });
}

std::vector<Step> wanted_steps(std::vector<Step> steps, const JobOptions& options) {
  std::erase_if(steps, [&](const Step& s) {
    return (options.first_step && s.index < *options.first_step) ||
           (options.last_step && s.index > *options.last_step);
  });
  return steps;
}

// Names of a category's rows.
std::vector<std::string_view> names_of(const Trace& trace, Category category) {
  std::vector<bool> seen(trace.strings.size());
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const StringId name = trace.slices.name[i];
    if (trace.slices.category[i] != category || seen[stepscope::index(name)]) continue;
    seen[stepscope::index(name)] = true;
    names.push_back(trace.strings[name]);
  }
  return names;
}

std::string device_kind(const Trace& trace, const RankIndex& index) {
  if (index.cpu_only()) return "cpu";
  const auto& texts = trace.metadata.texts;
  const std::vector<std::string_view> calls = names_of(trace, Category::runtime);
  const auto any_starts = [&](std::string_view prefix) {
    return std::ranges::any_of(calls, [&](auto name) { return name.starts_with(prefix); });
  };
  if (texts.contains("roctracer_version") || texts.contains("hip_runtime_version") ||
      any_starts("hip"))
    return "rocm";
  if (any_starts("runFunction")) return "mtia";
  if (any_starts("ur") || any_starts("pi")) return "xpu";
  return "cuda";
}

void describe(const Trace& trace, const Prepared& p, RankResult& r) {
  r.device = device_kind(trace, p.index);
  if (!p.steps.empty())
    r.recording.start_up.idle = idle_in_start_up(r.budget.rank().idle, r.recording.start_up);
  r.window_start = p.index.start;
  r.window_end = p.index.end;
  if (const auto text = trace.metadata.texts.find(std::string(unrecorded_step_key));
      text != trace.metadata.texts.end())
    if (const auto ns = number_of<std::int64_t>(text->second); ns && *ns > 0)
      r.unrecorded_step = Ns{*ns};
  if (p.index.cpu_only()) return;
  const int device =
      p.index.devices[r.budget.chosen < p.index.devices.size() ? r.budget.chosen : 0].device;
  for (const DeviceProperties& d : trace.metadata.devices)
    if (d.id == device || trace.metadata.devices.size() == 1) {
      r.gpu_name = d.name;
      if (d.total_memory.value > 0) r.gpu_memory = d.total_memory;
    }
}

using Questions = std::vector<std::function<void()>>;

// Answers the questions about one rank, and runs `beside`, which may be empty, in parallel.
// Questions of one list are independent and may run in parallel.
void account(const RankInput& input, const Prepared& p, const Collectives& collectives,
             std::size_t view, unsigned threads, const std::function<void()>& beside, RankResult& r,
             HostPhases& phases) {
  const Trace& trace = *input.trace;
  const CommSplit& split = collectives.splits[view];
  r.rank = input.rank;
  r.strings = &trace.strings;
  r.steps = p.steps;
  OpWork work;
  const auto ask = [&](const Questions& questions) {
    parallel_for(questions.size(), threads, [&](std::size_t i) { questions[i](); });
  };
  ask({[&] { work = attribute_work(trace, p.index); },
       [&] {
         phases = host_phases(trace, p.index, p.steps);
         r.budget = time_budget(trace, p.index, p.steps, split);
       },
       [&] { r.recording = recording_of(trace, p.index, p.steps, p.incomplete.lost); }});
  describe(trace, p, r);
  r.outside = outside_steps(p.index, p.steps);
  ask({[&] {
         if (beside) beside();
       },
       [&] { r.kernels = kernel_table(trace, p.index, p.steps, work); },
       [&] { r.samples = counter_samples(trace, p.steps); },
       [&] { r.operators = operator_table(trace, p.index, p.steps, work); },
       [&] { r.executed = executed_work(trace, p.index, p.steps, work); },
       [&] {
         r.phases = phase_budget(trace, p.index, p.steps, phases, r.budget.chosen);
         r.phase_summaries = summarize_phases(r.phases.steps);
       },
       [&] { r.ranges = range_tree(trace, p.index, p.steps, phases); },
       [&] { r.overlap = overlap(trace, p.index, p.steps, r.budget); },
       [&] {
         r.host = host_table(trace, p.index, p.steps);
         r.retries = allocation_retries(trace, p.index, p.steps, r.recording.start_up);
         if (!p.steps.empty()) r.gil = gil_waits(trace, p.index, p.steps, r.budget.rank());
       },
       [&] { r.memory = memory_table(trace, p.index, p.steps, phases.host); },
       [&] {
         r.gpu_windows = gpu_windows(trace, p.index);
         if (!p.steps.empty()) r.idle = idle_causes(trace, p.index, p.steps, r.budget.rank());
       }});
}

// Joins steps by index: steps that every rank has, and steps missing on some rank.
void join_steps(JobResult& job) {
  std::map<std::int64_t, JobStep> by_index;
  std::set<std::int64_t> all;
  const bool comparable = job.collectives.matches.clocks_comparable || job.ranks.size() == 1;
  std::map<std::int64_t, Ns> last_end;
  for (const RankResult& r : job.ranks)
    for (const Step& s : r.steps) {
      JobStep& step =
          by_index.try_emplace(s.index, JobStep{s.index, s.start, Ns{}, {}}).first->second;
      step.ranks.push_back(r.rank);
      step.start = std::min(step.start, s.start);
      Ns& end = last_end.try_emplace(s.index, s.end).first->second;
      end = std::max(end, s.end);
      step.wall = comparable ? end - step.start : std::max(step.wall, s.end - s.start);
    }
  for (auto& [index, step] : by_index) {
    if (step.ranks.size() == job.ranks.size()) {
      job.steps.push_back(step);
      continue;
    }
    for (const RankResult& r : job.ranks)
      if (std::ranges::find(step.ranks, r.rank) == step.ranks.end() &&
          !incomplete_on(job, r, index))
        job.missing.push_back({r.rank, index});
  }
}

// The steps that count of the job, else those that every rank has.
void count(std::vector<Step> counted, JobResult& job) {
  job.counted = std::move(counted);
  if (job.counted.empty())
    for (const JobStep& s : job.steps)
      job.counted.push_back(
          {.index = s.index, .name = {}, .start = s.start, .end = s.start + s.wall});
  std::vector<std::int64_t> walls;
  for (const Step& step : job.counted) walls.push_back((step.end - step.start).count());
  job.step_summary = summarize(walls);
}

// The account of the steps that count, so that the table, what a change saves and what two runs
// differ in have one denominator.
void account_counted(std::span<const RankView> views, std::span<const HostPhases> phases,
                     std::vector<std::vector<Step>> steps, const Workers& workers, JobResult& job) {
  const bool few = views.size() < workers.threads;
  std::vector<CountedAccount> counted(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) counted[i].steps = std::move(steps[i]);
  shared_for(counted, workers, Distribution::blocks, [&](std::size_t i) {
    const std::size_t chosen = job.ranks[i].budget.chosen;
    const RankView& view = views[i];
    CountedAccount& mine = counted[i];
    parallel_for(2, few ? 2 : 1, [&](std::size_t question) {
      if (question == 1) {
        mine.phases = phase_budget(*view.trace, *view.index, mine.steps, phases[i], chosen);
        return;
      }
      TimeBudget& budget = mine.budget;
      budget = time_budget(*view.trace, *view.index, mine.steps, job.collectives.splits[i]);
      for (DeviceBudget& device : budget.devices) release(device.idle);
      if (budget.devices.empty()) return;
      budget.chosen = chosen;
      mine.classes = class_times(*view.trace, {.rank = *view.index,
                                               .steps = mine.steps,
                                               .phases = phases[i],
                                               .split = job.collectives.splits[i],
                                               .calls = job.collectives.matches.ranks[i],
                                               .dimensions = job.collectives.dimension_of,
                                               .budget = budget});
    });
  });
  for (std::size_t i = 0; i < views.size(); ++i) job.ranks[i].counted = std::move(counted[i]);
}

CategoryMeans mean_of(std::span<const Budget> budgets) {
  CategoryMeans mean{};
  for (const Budget& b : budgets)
    for (std::size_t c = 0; c < budget_category_count; ++c)
      mean[c] += static_cast<double>(b.time[c].count());
  for (double& m : mean) m /= static_cast<double>(std::max<std::size_t>(1, budgets.size()));
  return mean;
}

// The mean of each rank's steps, by category; then over ranks. The steps are those that count, else
// the common ones.
void average(JobResult& job) {
  if (job.steps.empty()) return;
  std::set<std::int64_t> common;
  for (const JobStep& s : job.steps) common.insert(s.index);
  std::vector<CategoryMeans> per_rank;
  std::vector<StepPhases> phases;
  for (const RankResult& r : job.ranks) {
    const AccountedSteps accounted = accounted_steps(r);
    std::vector<Budget> budgets;
    for (std::size_t s = 0; s < accounted.steps.size(); ++s) {
      if (r.counted.steps.empty() && !common.contains(accounted.steps[s].index)) continue;
      phases.push_back(accounted.phases[s]);
      budgets.push_back(accounted.budgets[s]);
    }
    per_rank.push_back(mean_of(budgets));
  }
  job.phases = summarize_phases(phases);
  for (std::size_t c = 0; c < budget_category_count; ++c) {
    std::vector<double> values;
    values.reserve(per_rank.size());
    for (const auto& rank : per_rank) values.push_back(rank[c]);
    const auto summary = summarize(values);
    if (!summary) continue;
    const auto worst = std::ranges::max_element(values);
    job.spread[c] = {summary->mean, *worst,
                     job.ranks[static_cast<std::size_t>(worst - values.begin())].rank,
                     summary->stdev};
    job.mean.time[c] = Ns{std::llround(summary->mean)};
  }
}

std::vector<std::vector<DdpBucket>> ddp_buckets(std::span<const RankView> views,
                                                const Collectives& collectives) {
  std::vector<std::vector<DdpBucket>> buckets;
  for (std::size_t v = 0; v < views.size(); ++v)
    buckets.push_back(
        find_ddp_buckets(views[v], collectives.matches.ranks[v], collectives.exposed[v]));
  return buckets;
}

// The groups that the user's sizes make of the job's ranks.
std::vector<CommGroup> sized_groups(std::span<const RankInput> ranks, const JobOptions& options) {
  int world = options.world_size.value_or(0);
  for (const RankInput& r : ranks)
    world = std::max({world, r.rank + 1, r.trace->metadata.world_size.value_or(0)});
  return groups_of_sizes(options.sizes, world);
}

// The collectives of the job. If they align clocks, everything that contains instants is corrected.
CollectiveMatches align(std::span<const RankInput> ranks, std::vector<Prepared>& prepared,
                        std::span<const RankView> views, const JobOptions& options,
                        ClockAlignment& clocks) {
  MatchOptions how{.world_size = options.world_size,
                   .given = listed_groups(options.dimensions),
                   .threads = options.threads};
  for (CommGroup& group : sized_groups(ranks, options)) how.given.push_back(std::move(group));
  CollectiveMatches matches = match_collectives(views, how);
  clocks = align_clocks(views, matches, options.threads);
  if (!clocks.applied) {
    const bool apart = std::ranges::any_of(
        matches.coarse, [](const ClockCorrection& c) { return !c.is_identity(); });
    if (!apart) return matches;
    how.across_clocks = false;  // without confirmation it joins no ranks
    return match_collectives(views, how);
  }
  parallel_for(ranks.size(), options.threads, [&](std::size_t i) {
    const ClockCorrection& correction = clocks.by_view[i];
    apply_clock(*ranks[i].trace, correction);
    apply_clock(prepared[i].index, correction);
    for (Step& step : prepared[i].steps) apply_clock(step, correction);
    apply_clock(matches.ranks[i], correction);
  });
  return matches;
}

}  // namespace

AccountedSteps accounted_steps(const RankResult& r) {
  if (r.counted.steps.empty()) {
    if (r.steps.empty()) return {};
    return {r.steps, r.budget.rank().steps, r.phases.steps};
  }
  return {r.counted.steps, r.counted.budget.devices[r.budget.chosen].steps, r.counted.phases.steps};
}

CategoryMeans mean_step_of(const RankResult& r) { return mean_of(accounted_steps(r).budgets); }

const RankResult* find_rank(const JobResult& job, int rank) {
  const auto at = std::ranges::find(job.ranks, rank, &RankResult::rank);
  return at == job.ranks.end() ? nullptr : &*at;
}

bool is_window(const RankResult& r) { return r.steps.size() == 1 && r.steps[0].name == "window"; }

std::int64_t most_steps(const JobResult& job) {
  std::size_t most = 1;
  for (const RankResult& r : job.ranks) most = std::max(most, r.steps.size());
  return static_cast<std::int64_t>(most);
}

namespace {

// Index, classes and steps of each rank.
std::vector<Prepared> prepare(std::span<const RankInput> ranks, const JobOptions& options,
                              JobResult& job) {
  std::vector<Prepared> prepared(ranks.size());
  parallel_for(ranks.size(), options.threads, [&](std::size_t i) {
    prepared[i].index = index_rank(*ranks[i].trace);
    classify_by_launch(*ranks[i].trace, prepared[i].index);
    std::vector<Step> steps = find_steps(*ranks[i].trace, prepared[i].index, options.steps);
    if (!steps.empty()) prepared[i].recorded = {steps.front().index, steps.back().index};
    IncompleteSteps& incomplete = prepared[i].incomplete;
    incomplete = take_incomplete_steps(*ranks[i].trace, prepared[i].index, steps);
    incomplete.cut = wanted_steps(std::move(incomplete.cut), options);
    incomplete.lost = wanted_steps(std::move(incomplete.lost), options);
    prepared[i].steps = wanted_steps(std::move(steps), options);
  });
  list_cuts(ranks, prepared, job);
  for (const Prepared& p : prepared) {
    if (!p.recorded) continue;
    if (!job.recorded_steps) job.recorded_steps = p.recorded;
    job.recorded_steps->first = std::min(job.recorded_steps->first, p.recorded->first);
    job.recorded_steps->second = std::max(job.recorded_steps->second, p.recorded->second);
  }
  return prepared;
}

// They refer to `prepared`.
std::vector<RankView> views_of(std::span<const RankInput> ranks,
                               std::span<const Prepared> prepared) {
  std::vector<RankView> views;
  views.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    views.push_back({ranks[i].rank, ranks[i].trace, &prepared[i].index, prepared[i].steps});
  return views;
}

// The questions about all ranks that need no replay.
void ask_of_all(std::span<const RankView> views, std::span<const HostPhases> phases,
                const JobOptions& options, JobResult& job) {
  job.unit_waits.resize(views.size());
  parallel_for(views.size(), options.threads, [&](std::size_t i) {
    job.unit_waits[i] = find_unit_waits(views[i], job.collectives.matches.ranks[i],
                                        job.collectives.times.by_view[i], phases[i]);
  });
  job.units = unit_rows(job.unit_waits, views);
  job.unit_reduces = unit_reduce_rows(job.unit_waits, views);
  const std::vector<SharedQuestion> questions = {
      shared_question(
          job.stragglers,
          [&] { return find_stragglers(views, job.collectives, {.sizes = options.sizes}); }),
      shared_question(job.transfers, [&] { return find_transfers(views, job.collectives); }),
      shared_question(job.ddp_buckets, [&] { return ddp_buckets(views, job.collectives); }),
      shared_question(job.group_rates, [&] { return group_rates(job.collectives); }),
      shared_question(job.algorithms, [&] { return named_calls(views, job.collectives.matches); })};
  ask_shared(questions, options.threads);
}

// The first instant of the ranks; zero if a clock is relative.
Ns origin_of(std::span<const RankView> views, const JobResult& job) {
  Ns origin{};
  if (any_relative(views)) return origin;
  for (const RankResult& r : job.ranks)
    if (r.window_end > r.window_start && (origin.count() == 0 || r.window_start < origin))
      origin = r.window_start;
  return origin;
}

}  // namespace

Timeline timeline_of(std::span<const RankInput> ranks, const JobOptions& options) {
  JobResult unused;
  const std::vector<Prepared> prepared = prepare(ranks, options, unused);
  return make_timeline(views_of(ranks, prepared));
}

JobResult analyze_job(std::span<const RankInput> ranks, const JobOptions& options) {
  JobResult job;
  const auto stopped = [&] {
    job.interrupted = options.stop != nullptr && options.stop->requested();
    return job.interrupted;
  };
  std::vector<Prepared> prepared = prepare(ranks, options, job);
  if (stopped()) return job;
  const std::vector<RankView> views = views_of(ranks, prepared);
  CollectiveMatches matches = align(ranks, prepared, views, options, job.clocks);
  if (stopped()) return job;
  job.collectives = analyze_collectives(views, std::move(matches),
                                        {.dimensions = options.dimensions,
                                         .sized = sized_groups(ranks, options),
                                         .threads = options.threads});
  if (stopped()) return job;

  std::vector<Accounted> accounted(ranks.size());
  const unsigned threads = options.threads.threads;
  const bool side_by_side = ranks.size() >= threads || !options.threads.alone();
  std::optional<StepGraph> graph;
  const auto build_graph = [&] { graph = build_step_graph(views, job.collectives); };
  const Workers workers(side_by_side ? threads : 1, options.threads.crew);
  shared_for(accounted, workers, Distribution::blocks, [&](std::size_t i) {
    if (options.stop != nullptr && options.stop->requested()) return;
    account(
        ranks[i], prepared[i], job.collectives, i, side_by_side ? 1 : threads,
        i == 0 && options.explain && !side_by_side ? std::function<void()>(build_graph) : nullptr,
        accounted[i].rank, accounted[i].phases);
  });
  std::vector<HostPhases> phases;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    accounted[i].rank.strings = &ranks[i].trace->strings;
    job.ranks.push_back(std::move(accounted[i].rank));
    phases.push_back(std::move(accounted[i].phases));
  }
  if (stopped()) return job;
  join_steps(job);
  CountedSteps counted =
      count_steps(views, job.collectives.matches.clocks_comparable || views.size() == 1,
                  options.threads.threads);
  const Roles roles =
      find_roles(views, job.collectives.matches, job.collectives.dimension_of, options.sizes);
  for (std::size_t i = 0; i < views.size(); ++i) job.ranks[i].role = roles[i];
  ask_of_all(views, phases, options, job);
  std::vector<std::size_t> devices;
  for (const RankResult& r : job.ranks) devices.push_back(r.budget.chosen);
  job.pipeline = pipeline_bubble({views, job.collectives, phases, devices, options.threads});
  if (!options.details)
    parallel_for(ranks.size(), options.threads,
                 [&](std::size_t i) { release_details(*ranks[i].trace); });
  if (options.explain)
    job.explanation = explain({.views = views,
                               .collectives = job.collectives,
                               .roles = roles,
                               .phases = phases,
                               .units = job.unit_waits,
                               .scenarios = options.scenarios,
                               .pipeline = job.pipeline ? &*job.pipeline : nullptr,
                               .graph = std::move(graph),
                               .steps = counted.of_view,
                               .standing = options.scenarios.empty() && options.standing,
                               .messages = options.messages ? &options.messages : nullptr,
                               .visit = options.visit,
                               .threads = options.threads,
                               .stop = options.stop});
  if (stopped()) return job;
  count(std::move(counted.of_job), job);
  account_counted(views, phases, std::move(counted.of_view), options.threads, job);
  average(job);
  if (options.timeline) job.timeline = make_timeline(views);
  job.origin = origin_of(views, job);
  return job;
}

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/job.h"

#include <algorithm>
#include <exception>
#include <functional>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/base/freed_memory.h"

namespace stepscope {

// Each process sets it to its own pool of the rank.
template <>
struct Plain<const StringPool*> {
  static void append(std::string&, const StringPool* const&) {}
  static bool take(std::string_view&, const StringPool*&) { return true; }
};

namespace {

// Data per rank that is built before the job's questions.
struct Prepared {
  RankIndex index;
  std::vector<Step> steps;
  std::optional<std::pair<std::int64_t, std::int64_t>> recorded;  // first and last Step::index
  IncompleteSteps incomplete;                                     // not among `steps`
};

// What the questions share.
struct Draft {
  std::span<const RankInput> ranks;
  const JobOptions& options;
  std::vector<Prepared> prepared{};
  std::vector<RankView> views{};  // of `prepared`
  std::vector<HostPhases> phases{};
  std::optional<StepGraph> graph{};
  Roles roles{};
  CountedSteps counted{};

  [[nodiscard]] bool stopped() const {
    return options.stop != nullptr && options.stop->requested();
  }
};

std::vector<Step> wanted_steps(std::vector<Step> steps, const JobOptions& options) {
  std::erase_if(steps, [&](const Step& s) {
    return (options.first_step && s.index < *options.first_step) ||
           (options.last_step && s.index > *options.last_step);
  });
  return steps;
}

// A check that fails names the view.
template <class Body>
void for_each_view(std::size_t views, unsigned threads, const Body& body) {
  parallel_for(views, threads, [&](std::size_t i) { work_on_input(i, [&] { body(i); }); });
}

// Index, classes and steps of each rank; the steps that are not whole.
void prepare(Draft& draft, JobResult& job) {
  const JobOptions& options = draft.options;
  draft.prepared.resize(draft.ranks.size());
  for_each_view(draft.ranks.size(), options.threads, [&](std::size_t i) {
    if (draft.stopped()) return;
    Trace& trace = *draft.ranks[i].trace;
    Prepared& p = draft.prepared[i];
    p.index = index_rank(trace);
    classify_by_launch(trace, p.index);
    std::vector<Step> steps = find_steps(trace, p.index, options.steps);
    if (!steps.empty()) p.recorded = {steps.front().index, steps.back().index};
    p.incomplete = take_incomplete_steps(trace, p.index, steps);
    p.incomplete.cut = wanted_steps(std::move(p.incomplete.cut), options);
    p.incomplete.lost = wanted_steps(std::move(p.incomplete.lost), options);
    p.steps = wanted_steps(std::move(steps), options);
  });
  for (std::size_t i = 0; i < draft.ranks.size(); ++i) {
    const auto& [rank, trace] = draft.ranks[i];
    const Prepared& p = draft.prepared[i];
    draft.views.push_back({rank, trace, &p.index, p.steps});
    if (p.recorded) {
      auto& recorded = job.steps.recorded;
      if (!recorded) recorded = p.recorded;
      recorded->first = std::min(recorded->first, p.recorded->first);
      recorded->second = std::max(recorded->second, p.recorded->second);
    }
    if (trace->notes.cuts.empty()) continue;
    CutRank& cut = job.steps.cut.emplace_back();
    cut.rank = rank;
    cut.whole = p.steps.size();
    cut.window = p.incomplete.cut.size() == 1 && p.incomplete.cut.front().name == "window";
    for (const Step& step : p.incomplete.cut) cut.steps.push_back(step.index);
  }
}

// The groups that the user's sizes make of the job's ranks.
std::vector<CommGroup> sized_groups(std::span<const RankInput> ranks, const JobOptions& options) {
  int world = options.world_size.value_or(0);
  for (const RankInput& r : ranks)
    world = std::max({world, r.rank + 1, r.trace->metadata.world_size.value_or(0)});
  return groups_of_sizes(options.sizes, world);
}

// If the collectives of the job align clocks, everything that contains instants is corrected.
CollectiveMatches align(Draft& draft, std::vector<CommGroup> sized, ClockAlignment& clocks) {
  const JobOptions& options = draft.options;
  MatchOptions how{.world_size = options.world_size,
                   .given = listed_groups(options.dimensions),
                   .threads = options.threads};
  for (CommGroup& group : sized) how.given.push_back(std::move(group));
  CollectiveMatches matches = match_collectives(draft.views, how);
  if (draft.stopped()) return matches;
  clocks = align_clocks(draft.views, matches, options.threads);
  if (!clocks.applied) {
    const bool apart = std::ranges::any_of(
        matches.coarse, [](const ClockCorrection& c) { return !c.is_identity(); });
    if (!apart) return matches;
    how.across_clocks = false;  // without confirmation it joins no ranks
    return match_collectives(draft.views, how);
  }
  for_each_view(draft.ranks.size(), options.threads, [&](std::size_t i) {
    const ClockCorrection& correction = clocks.by_view[i];
    apply_clock(*draft.ranks[i].trace, correction);
    apply_clock(draft.prepared[i].index, correction);
    for (Step& step : draft.prepared[i].steps) apply_clock(step, correction);
    apply_clock(matches.ranks[i], correction);
  });
  return matches;
}

bool clocks_comparable(const Draft& draft, const JobResult& job) {
  return job.collectives.matches.clocks_comparable || draft.views.size() == 1;
}

void match(Draft& draft, JobResult& job) {
  std::vector<CommGroup> sized = sized_groups(draft.ranks, draft.options);
  CollectiveMatches matches = align(draft, sized, job.clocks);
  if (draft.stopped()) return;
  job.collectives = analyze_collectives(draft.views, std::move(matches),
                                        {.dimensions = draft.options.dimensions,
                                         .sized = std::move(sized),
                                         .threads = draft.options.threads});
  if (draft.stopped()) return;
  draft.counted =
      count_steps(draft.views, clocks_comparable(draft, job), draft.options.threads.threads);
}

void account_ranks(Draft& draft, JobResult& job) {
  const Workers& workers = draft.options.threads;
  const std::size_t count = draft.views.size();
  const bool side_by_side = count >= workers.threads || !workers.alone();
  std::exception_ptr graph_failed;  // the graph is of all ranks, though one rank's work builds it
  const auto build_graph = [&] {
    try {
      draft.graph = build_step_graph(draft.views, job.collectives);
    } catch (...) {
      graph_failed = std::current_exception();
    }
  };
  std::vector<AccountedRank> accounted(count);
  shared_for(accounted, Workers(side_by_side ? workers.threads : 1, workers.crew),
             Distribution::blocks, [&](std::size_t i) {
               if (draft.stopped()) return;
               const bool with_graph = i == 0 && draft.options.explain && !side_by_side;
               work_on_input(i, [&] {
                 accounted[i] = account_rank(
                     draft.views[i], draft.prepared[i].incomplete.lost, draft.counted.of_view[i],
                     job.collectives.splits[i], side_by_side ? 1 : workers.threads,
                     with_graph ? std::function<void()>(build_graph) : nullptr);
               });
             });
  if (graph_failed) std::rethrow_exception(graph_failed);
  for (std::size_t i = 0; i < count; ++i) {
    accounted[i].rank.strings = &draft.views[i].trace->strings;
    job.ranks.push_back(std::move(accounted[i].rank));
    draft.phases.push_back(std::move(accounted[i].phases));
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

// The questions about all ranks that need no replay.
void ask_of_all(Draft& draft, JobResult& job) {
  const std::span<const RankView> views = draft.views;
  const Collectives& collectives = job.collectives;
  const JobOptions& options = draft.options;
  join_steps(job.ranks, clocks_comparable(draft, job), job.steps);
  job.collectives.of_activations = find_activations(views, collectives.matches, draft.phases);
  if (draft.stopped()) return;
  draft.roles = find_roles(views, collectives.matches, collectives.dimension_of, options.sizes);
  std::vector<std::size_t> devices;
  for (std::size_t i = 0; i < views.size(); ++i) {
    job.ranks[i].role = draft.roles[i];
    devices.push_back(job.ranks[i].budget.chosen);
  }
  job.units.waits.resize(views.size());
  for_each_view(views.size(), options.threads, [&](std::size_t i) {
    if (draft.stopped()) return;
    job.units.waits[i] = find_unit_waits(views[i], collectives.matches.ranks[i],
                                         collectives.times.by_view[i], draft.phases[i]);
  });
  if (draft.stopped()) return;
  job.units.rows = unit_rows(job.units.waits, views);
  job.units.reduces = unit_reduce_rows(job.units.waits, views);
  JobTraffic& traffic = job.traffic;
  const std::vector<SharedQuestion> questions = {
      shared_question(
          job.stragglers,
          [&] { return find_stragglers(views, collectives, {.sizes = options.sizes}); }),
      shared_question(traffic.transfers, [&] { return find_transfers(views, collectives); }),
      shared_question(traffic.buckets, [&] { return ddp_buckets(views, collectives); }),
      shared_question(traffic.rates, [&] { return group_rates(collectives); }),
      shared_question(traffic.algorithms, [&] { return named_calls(views, collectives.matches); })};
  ask_shared(questions, options.threads);
  if (draft.stopped()) return;
  job.pipeline = pipeline_bubble({views, collectives, draft.phases, devices, options.threads});
}

void replay(Draft& draft, JobResult& job) {
  const JobOptions& options = draft.options;
  if (!options.details)
    parallel_for(draft.ranks.size(), options.threads,
                 [&](std::size_t i) { release_details(*draft.ranks[i].trace); });
  if (!options.explain) return;
  job.explanation = explain({.views = draft.views,
                             .collectives = job.collectives,
                             .roles = draft.roles,
                             .phases = draft.phases,
                             .units = job.units.waits,
                             .scenarios = options.scenarios,
                             .pipeline = job.pipeline ? &*job.pipeline : nullptr,
                             .graph = std::move(draft.graph),
                             .steps = draft.counted.of_view,
                             .standing = options.scenarios.empty() && options.standing,
                             .messages = options.messages ? &options.messages : nullptr,
                             .visit = options.visit,
                             .threads = options.threads,
                             .stop = options.stop});
}

// The account of the steps that count, so that the table, what a change saves and what two runs
// differ in have one denominator.
void account_counted(const Draft& draft, const JobResult& job, std::size_t i, unsigned threads,
                     CountedAccount& mine) {
  const std::size_t chosen = job.ranks[i].budget.chosen;
  const RankView& view = draft.views[i];
  parallel_for(2, threads, [&](std::size_t question) {
    if (question == 1) {
      mine.phases = phase_budget(*view.trace, *view.index, mine.steps, draft.phases[i], chosen);
      return;
    }
    TimeBudget& budget = mine.budget;
    const RankRecording& recording = job.ranks[i].recording;
    budget = time_budget(*view.trace, *view.index, mine.steps, job.collectives.splits[i],
                         {recording.start, recording.end});
    for (DeviceBudget& device : budget.devices) release(device.idle);
    if (budget.devices.empty()) return;
    budget.chosen = chosen;
    mine.classes = class_times(*view.trace, {.rank = *view.index,
                                             .steps = mine.steps,
                                             .phases = draft.phases[i],
                                             .split = job.collectives.splits[i],
                                             .calls = job.collectives.matches.ranks[i],
                                             .dimensions = job.collectives.dimension_of,
                                             .budget = budget});
  });
}

void account_counted(Draft& draft, JobResult& job) {
  const std::span<const RankView> views = draft.views;
  const Workers& workers = draft.options.threads;
  const bool few = views.size() < workers.threads;
  std::vector<CountedAccount> counted(views.size());
  for (std::size_t i = 0; i < views.size(); ++i)
    counted[i].steps = std::move(draft.counted.of_view[i]);
  shared_for(counted, workers, Distribution::blocks, [&](std::size_t i) {
    if (draft.stopped()) return;
    work_on_input(i, [&] { account_counted(draft, job, i, few ? 2 : 1, counted[i]); });
  });
  for (std::size_t i = 0; i < views.size(); ++i) job.ranks[i].counted = std::move(counted[i]);
}

// The first instant of the ranks; zero if a clock is relative.
Ns first_instant(std::span<const RankView> views, std::span<const RankResult> ranks) {
  Ns first{};
  if (any_relative(views)) return first;
  for (const RankResult& r : ranks)
    if (r.recording.end > r.recording.start && (first.count() == 0 || r.recording.start < first))
      first = r.recording.start;
  return first;
}

void average(Draft& draft, JobResult& job) {
  account_counted(draft, job);
  if (draft.stopped()) return;
  average_steps(job.ranks, std::move(draft.counted.of_job), job.steps);
  if (draft.options.timeline) job.timeline = make_timeline(draft.views);
  job.clocks.origin = first_instant(draft.views, job.ranks);
}

}  // namespace

Timeline timeline_of(std::span<const RankInput> ranks, const JobOptions& options) {
  Draft draft{ranks, options};
  JobResult unused;
  prepare(draft, unused);
  return make_timeline(draft.views);
}

JobResult analyze_job(std::span<const RankInput> ranks, const JobOptions& options) {
  Draft draft{ranks, options};
  JobResult job;
  for (const auto fill : {prepare, match, account_ranks, ask_of_all, replay, average}) {
    fill(draft, job);
    job.interrupted = draft.stopped();
    if (job.interrupted) break;
  }
  return job;
}

}  // namespace stepscope

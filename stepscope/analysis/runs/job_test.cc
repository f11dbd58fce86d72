// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/job.h"

#include <gtest/gtest.h>

#include <deque>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

// A rank with a step of the given length at each index. A kernel fills half of the step.
Trace rank_with(const std::vector<std::pair<int, std::int64_t>>& steps,
                Clock clock = Clock::unix_epoch, std::int64_t from = 1'000'000) {
  TraceBuilder b;
  b.trace().metadata.clock = clock;
  std::int64_t at = from;
  std::uint32_t correlation = 1;
  for (const auto& [index, length] : steps) {
    b.step("ProfilerStep#" + std::to_string(index), at, at + length);
    b.launch(correlation, at, at + 1);
    b.kernel("gemm", at + 1, at + 1 + length / 2, correlation++);
    at += length;
  }
  return b.sealed();
}

class Job {
 public:
  Job& add(int rank, Trace trace) {
    inputs_.push_back({rank, &traces_.emplace_back(std::move(trace))});
    return *this;
  }
  [[nodiscard]] JobResult run(const JobOptions& options = {}) const {
    return analyze_job(inputs_, options);
  }

 private:
  std::deque<Trace> traces_;
  std::vector<RankInput> inputs_;
};

JobOptions wanted(std::int64_t first, std::int64_t last) {
  JobOptions options;
  options.first_step = first;
  options.last_step = last;
  return options;
}

JobOptions with_threads(unsigned threads) {
  JobOptions options;
  options.threads = threads;
  return options;
}

JobOptions stoppable(const StopFlag& stop) {
  JobOptions options;
  options.stop = &stop;
  return options;
}

std::vector<std::int64_t> indices(const JobResult& job) {
  std::vector<std::int64_t> found;
  for (const JobStep& s : job.steps.common) found.push_back(s.index);
  return found;
}

TEST(Job, StepsThatEveryRankHasAreTheJobsAndTheOthersAreReported) {
  Job run;
  run.add(0, rank_with({{1, 100}, {2, 100}, {3, 100}})).add(1, rank_with({{2, 100}, {3, 100}}));
  const JobResult job = run.run();
  EXPECT_EQ(indices(job), (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(job.steps.missing.size(), 1U);
  EXPECT_EQ(job.steps.missing[0].rank, 1);
  EXPECT_EQ(job.steps.missing[0].index, 1);
}

TEST(Job, RanksWithoutACommonStepHaveNoMeanStep) {
  Job run;
  run.add(0, rank_with({{1, 100}})).add(1, rank_with({{2, 100}}));
  const JobResult job = run.run();
  EXPECT_TRUE(job.steps.common.empty());
  EXPECT_EQ(job.steps.missing.size(), 2U);
  EXPECT_FALSE(job.steps.summary);
  EXPECT_EQ(job.steps.mean.sum(), Ns{});
}

TEST(Job, RelativeClocksGiveTheLongestStepAndNoOrigin) {
  Job run;
  run.add(0, rank_with({{1, 100}}, Clock::relative))
      .add(1, rank_with({{1, 300}}, Clock::relative, 5'000));
  const JobResult job = run.run();
  ASSERT_EQ(job.steps.common.size(), 1U);
  EXPECT_EQ(job.steps.common[0].wall, job.ranks[1].steps[0].end - job.ranks[1].steps[0].start);
  EXPECT_EQ(job.clocks.origin, Ns{});
  EXPECT_FALSE(job.collectives.matches.clocks_comparable);
}

TEST(Job, ComparableClocksGiveTheSpanFromTheFirstToTheLast) {
  Job run;
  run.add(0, rank_with({{1, 100}})).add(1, rank_with({{1, 100}}, Clock::unix_epoch, 1'000'050));
  const JobResult job = run.run();
  ASSERT_EQ(job.steps.common.size(), 1U);
  ASSERT_TRUE(job.collectives.matches.clocks_comparable);
  const Step& first = job.ranks[0].steps[0];
  const Step& second = job.ranks[1].steps[0];
  EXPECT_EQ(job.steps.common[0].start, first.start);
  EXPECT_EQ(job.steps.common[0].wall, second.end - first.start);
  EXPECT_EQ(job.clocks.origin, job.ranks[0].recording.start);
}

TEST(Job, TheMeanIsOverCommonStepsOfAllRanksAndTheWorstRankIsNamed) {
  Job run;
  run.add(0, rank_with({{1, 900}, {2, 100}})).add(1, rank_with({{2, 300}}));
  const JobResult job = run.run();
  const auto compute = static_cast<std::size_t>(BudgetCategory::compute);
  const Ns of_first = job.ranks[0].budget.rank().steps[1].time[compute];
  const Ns of_second = job.ranks[1].budget.rank().steps[0].time[compute];
  ASSERT_GT(of_second, of_first);
  EXPECT_DOUBLE_EQ(job.steps.spread[compute].mean,
                   static_cast<double>((of_first + of_second).count()) / 2);
  EXPECT_EQ(job.steps.spread[compute].worst_rank, 1);
  EXPECT_DOUBLE_EQ(job.steps.spread[compute].worst, static_cast<double>(of_second.count()));
  EXPECT_DOUBLE_EQ(job.steps.spread[compute].least, static_cast<double>(of_first.count()));
}

// From the end of a step to the end of the next; a step ends when its last rank does.
TEST(Job, TheMeanAddsUpToTheStepOfTheReplay) {
  Job run;
  run.add(0, rank_with({{1, 900}, {2, 100}, {3, 200}}, Clock::unix_epoch, 1'000'000))
      .add(1, rank_with({{1, 1000}, {2, 300}, {3, 200}}, Clock::unix_epoch, 1'000'050));
  const JobResult job = run.run();
  ASSERT_TRUE(job.collectives.matches.clocks_comparable && job.explanation);
  EXPECT_EQ(job.steps.mean.sum(), job.explanation->step);
  EXPECT_EQ(job.steps.mean.sum(), Ns{900 / 2});  // rank 1 ends its steps at 551, 1201 and 1451
  for (const RankResult& r : job.ranks) {
    ASSERT_EQ(r.counted.steps.size(), 2U);
    EXPECT_EQ(r.counted.budget.total.sum(), Ns{900});
    EXPECT_EQ(r.counted.phases.total.sum(), Ns{900});
  }
}

TEST(Job, WantedStepsAreAllThereIsAndWhatWasRecordedIsStillKnown) {
  Job run;
  run.add(0, rank_with({{1, 100}, {2, 100}, {3, 100}, {4, 100}}));
  const JobResult job = run.run(wanted(2, 3));
  EXPECT_EQ(indices(job), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(job.ranks[0].budget.rank().steps.size(), 2U);
  ASSERT_TRUE(job.steps.recorded);
  EXPECT_EQ(*job.steps.recorded, (std::pair<std::int64_t, std::int64_t>{1, 4}));
  const JobResult none = run.run(wanted(9, 99));
  EXPECT_TRUE(none.steps.common.empty());
  EXPECT_EQ(none.steps.recorded, job.steps.recorded);
}

TEST(Job, ThreadsChangeNothing) {
  Job run;
  run.add(0, rank_with({{1, 100}, {2, 120}})).add(3, rank_with({{1, 110}, {2, 90}}));
  const JobResult one = run.run();
  const JobResult four = run.run(with_threads(4));
  EXPECT_EQ(one.steps.mean.time, four.steps.mean.time);
  EXPECT_EQ(indices(one), indices(four));
  EXPECT_EQ(four.ranks[1].rank, 3);
}

TEST(Job, ARequestToStopEndsIt) {
  Job run;
  run.add(0, rank_with({{1, 100}}));
  StopFlag stop;
  EXPECT_FALSE(run.run(stoppable(stop)).interrupted);
  stop.request();
  EXPECT_TRUE(run.run(stoppable(stop)).interrupted);
}

TEST(Job, WhatWasRecordedIsToldOfEachRank) {
  Job run;
  run.add(0, rank_with({{1, 100}}));
  TraceBuilder host;
  host.op("aten::add", 10, 20);
  run.add(1, host.sealed());
  const JobResult job = run.run();
  EXPECT_EQ(job.ranks[0].device.kind, "cuda");
  EXPECT_TRUE(job.ranks[0].recording.has_launch_rows());
  EXPECT_EQ(job.ranks[0].recording.shaped_operators, 0U);
  EXPECT_EQ(job.ranks[0].recording.of(Category::sync), 0U);
  EXPECT_EQ(job.ranks[1].device.kind, "cpu");
  EXPECT_EQ(job.ranks[1].steps.at(0).name, "window");
}

TEST(Job, NoRankIsNoJob) {
  const JobResult job = analyze_job({});
  EXPECT_TRUE(job.ranks.empty() && job.steps.common.empty() && !job.interrupted);
}

}  // namespace
}  // namespace stepscope

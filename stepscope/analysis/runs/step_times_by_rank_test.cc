// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/step_times_by_rank.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// Steps 10, 11, … of 100 ns.
std::vector<NumberedStep> steps_from_ten(std::size_t n) {
  std::vector<NumberedStep> steps;
  for (std::size_t i = 0; i < n; ++i)
    steps.push_back({.number = 10 + static_cast<std::int64_t>(i), .wall_ns = 100});
  return steps;
}

TEST(StepTimesByRank, ARankIsBesideTheMedianOfItsStep) {
  const std::vector<NumberedStep> job = {{10, 900}, {11, 100}, {12, 130}};
  const std::vector<RankOfStep> ranks = {{2, 10, 900}, {0, 10, 880}, {1, 10, 800},
                                         {2, 11, 120}, {0, 11, 100}, {1, 11, 90},
                                         {2, 12, 130}, {0, 12, 100}, {7, 99, 500}};
  const StepTimesByRank r = step_times_by_rank(job, ranks, 1);
  EXPECT_EQ(r.steps, 3U);
  EXPECT_EQ(r.warm_up, 1U);
  EXPECT_EQ(r.counted_from, 11);
  ASSERT_TRUE(r.job);
  EXPECT_EQ(r.job->steps, 2U);
  EXPECT_EQ(r.job->max_ns, 130);
  ASSERT_EQ(r.ranks.size(), 3U);  // rank 7 has no step of the job
  EXPECT_EQ(r.ranks[0].rank, 0);
  EXPECT_EQ(r.ranks[1].times.steps, 1U);
  EXPECT_EQ(r.ranks[2].times.median_ns, 125);
  EXPECT_NEAR(*r.ranks[2].deviation, (0.2 + (130.0 / 115 - 1)) / 2, 1e-12);
  ASSERT_EQ(r.columns.size(), 3U);  // the warm-up too
  EXPECT_EQ(r.columns[0].median_ns, 900);
  ASSERT_EQ(r.map.size(), 3U);
  EXPECT_NEAR(*r.map[1].cells[0], 800.0 / 880 - 1, 1e-12);
  EXPECT_FALSE(r.map[1].cells[2]);
}

TEST(StepTimesByRank, ARankAloneDeviatesFromNothing) {
  const auto job = steps_from_ten(3);
  const std::vector<RankOfStep> one = {{4, 10, 100}, {4, 11, 100}, {4, 12, 100}};
  const StepTimesByRank r = step_times_by_rank(job, one, 0);
  ASSERT_EQ(r.ranks.size(), 1U);
  EXPECT_FALSE(r.ranks[0].deviation);
  EXPECT_TRUE(r.map.empty());
  EXPECT_TRUE(step_times_by_rank(job, {}, 0).ranks.empty());
}

TEST(StepTimesByRank, WithoutStepsThereIsNothing) {
  const std::vector<RankOfStep> one = {{4, 10, 100}};
  const StepTimesByRank r = step_times_by_rank({}, one, 5);
  EXPECT_FALSE(r.job);
  EXPECT_FALSE(r.counted_from);
  EXPECT_TRUE(r.ranks.empty());
  EXPECT_TRUE(r.columns.empty());
}

TEST(StepTimesByRank, OutliersAreOfTheRanksOwnSteps) {
  const auto job = steps_from_ten(40);
  std::vector<RankOfStep> ranks;
  for (const NumberedStep& s : job) {
    const double noise = static_cast<double>(s.number % 3);
    ranks.push_back({0, s.number, 100 + noise});
    ranks.push_back({1, s.number, (s.number == 30 ? 300 : 200) + noise});
  }
  const StepTimesByRank r = step_times_by_rank(job, ranks, 0);
  EXPECT_EQ(r.ranks[0].times.outliers, 0U);
  EXPECT_EQ(r.ranks[1].times.outliers, 1U);
  EXPECT_EQ(r.job->outliers, 0U);  // all are equal
}

TEST(StepTimesByRank, ALargeMapKeepsTheFurthestDeviation) {
  const auto job = steps_from_ten(1000);
  std::vector<RankOfStep> ranks;
  for (int rank = 0; rank < 100; ++rank)
    for (const NumberedStep& s : job)
      ranks.push_back({rank, s.number, rank == 57 && s.number == 444 ? 20.0 : 100.0});
  const StepTimesByRank r = step_times_by_rank(job, ranks, 0, {.columns = 30, .rows = 7});
  ASSERT_EQ(r.columns.size(), 30U);
  ASSERT_EQ(r.map.size(), 7U);
  EXPECT_EQ(r.columns.front().first, 10);
  EXPECT_EQ(r.columns.back().last, 1009);
  EXPECT_EQ(r.map.front().first_rank, 0);
  EXPECT_EQ(r.map.back().last_rank, 99);
  std::size_t marked = 0;
  for (const DeviationRow& row : r.map)
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      if (row.cells[c] == 0) continue;
      ++marked;
      EXPECT_NEAR(*row.cells[c], -0.8, 1e-12);
      EXPECT_TRUE(row.first_rank <= 57 && 57 <= row.last_rank);
      EXPECT_TRUE(r.columns[c].first <= 444 && 444 <= r.columns[c].last);
    }
  EXPECT_EQ(marked, 1U);
  for (std::size_t c = 1; c < r.columns.size(); ++c)
    EXPECT_EQ(r.columns[c].first, r.columns[c - 1].last + 1);
}

}  // namespace

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_bubble.h"

#include <gtest/gtest.h>

#include <random>

#include "stepscope/analysis/runs/job_test_pipeline.h"

namespace stepscope {
namespace {

using test::PipelineJob;

constexpr double near = 2e-7;  // seconds per step: ns are rounded once per operation

JobBubble bubble_of(const PipelineJob& job) {
  const JobOperations table = test::table_of(job);
  const auto layout = lay_out(table);
  EXPECT_TRUE(layout);
  const auto bubble = job_bubble(table, *layout, make_job_replay(table, *layout));
  EXPECT_TRUE(bubble);
  return *bubble;
}

PipelineJob job_with_transfers(double transfer, std::vector<double> scale) {
  PipelineJob job{.dp = 2, .stages = static_cast<int>(scale.size()), .batches = 8};
  job.lasts = [transfer, scale](JobOp op, std::int64_t, int, int stage, int) {
    if (op == JobOp::forward_compute) return 0.1 * scale[static_cast<std::size_t>(stage)];
    if (op == JobOp::backward_compute) return 0.2 * scale[static_cast<std::size_t>(stage)];
    return is_pipeline_comm(op) ? transfer : 0.01;
  };
  return job;
}

// Of one step.
double of(const JobBubble& b, Ns sum) {
  return static_cast<double>(sum.count()) * 1e-9 / static_cast<double>(b.steps);
}
double of(const JobBubble& b, std::optional<Ns> sum) { return of(b, sum.value()); }

TEST(JobBubble, IsTheFormulaWhereStagesAreAlike) {
  const JobBubble b = bubble_of(job_with_transfers(0, {1, 1, 1, 1}));
  EXPECT_EQ(b.stages, 4);
  EXPECT_EQ(b.micro_batches, 8);
  EXPECT_EQ(b.chunks, 1);
  EXPECT_EQ(b.schedule, PipelineSchedule::one_f_one_b);
  EXPECT_EQ(b.steps, 4U);  // two DP ranks, two steps
  for (const JobStageBubble& s : b.by_stage) {
    const StageTimes& t = s.total;
    EXPECT_EQ(t.work + t.bubble(), t.wall);
    EXPECT_NEAR(of(b, t.wall), 11 * 0.3, near);
    EXPECT_NEAR(of(b, t.fill.sum()), 0.1 * s.stage, near);
    EXPECT_NEAR(of(b, t.passes), 8 * 0.3, near);
    EXPECT_NEAR(of(b, s.due_to.schedule), 3 * 0.3, near);
    EXPECT_NEAR(of(b, s.due_to.imbalance), 0, near);
    EXPECT_NEAR(of(b, s.due_to.links), 0, near);
    EXPECT_EQ(s.due_to.sum(), t.bubble());
  }
  // A receive waits from the start of the step: the stage is inside the receive and not idle.
  EXPECT_NEAR(of(b, b.by_stage[3].total.fill.message), 0.3, near);
}

TEST(JobBubble, SeparatesSlowStagesAndLinks) {
  const std::vector<double> scale = {1, 1.5, 1, 2.5};  // their mean is 1.5
  const JobBubble b = bubble_of(job_with_transfers(0.03, scale));
  const JobBubble linkless = bubble_of(job_with_transfers(0, scale));
  const JobBubble even = bubble_of(job_with_transfers(0, {1.5, 1.5, 1.5, 1.5}));
  const double wall = of(b, b.by_stage[0].total.wall);
  const double without = of(b, linkless.by_stage[0].total.wall);
  const double balanced = of(b, even.by_stage[0].total.wall);
  EXPECT_GT(wall, without + 0.1);
  EXPECT_GT(without, balanced + 0.1);
  for (const JobStageBubble& s : b.by_stage) {
    const double more = 8 * 0.3 * (scale[static_cast<std::size_t>(s.stage)] - 1.5);
    EXPECT_NEAR(of(b, s.due_to.links), wall - without, near);
    EXPECT_NEAR(of(b, s.due_to.imbalance), without - balanced - more, near);
    EXPECT_NEAR(of(b, s.due_to.schedule), 3 * 0.45, near);
    EXPECT_EQ(s.due_to.sum(), s.total.bubble());
  }
}

// Random times for each operation: parts sum to the step, and late launches are only in the rest.
TEST(JobBubble, LateLaunchesAreOfTheRest) {
  PipelineJob job = job_with_transfers(0.01, {1, 1.2, 0.9});
  const JobBubble punctual = bubble_of(job);
  std::mt19937 random(5);
  std::map<std::tuple<JobOp, std::int64_t, int, int, int>, double> drawn;
  job.late = [&](JobOp op, std::int64_t step, int dp, int stage, int seq) {
    if (op > JobOp::backward_compute) return 0.0;
    const auto [at, fresh] = drawn.try_emplace({op, step, dp, stage, seq}, 0);
    if (fresh) at->second = static_cast<double>(random() % 1000) * 1e-5;
    return at->second;
  };
  const JobBubble late = bubble_of(job);
  for (std::size_t s = 0; s < 3; ++s) {
    const BubbleShares& due = late.by_stage[s].due_to;
    const BubbleShares& before = punctual.by_stage[s].due_to;
    const StageTimes& t = late.by_stage[s].total;
    EXPECT_EQ(t.work + t.bubble(), t.wall);
    EXPECT_EQ(due.sum(), t.bubble());
    EXPECT_NEAR(of(late, due.schedule), of(late, before.schedule), near);
    EXPECT_NEAR(of(late, due.imbalance), of(late, before.imbalance), near);
    EXPECT_NEAR(of(late, due.links), of(late, before.links), near);
    EXPECT_GT(due.rest, before.rest);
  }
}

TEST(JobBubble, NeedsStages) {
  const JobOperations table = test::table_of(job_with_transfers(0, {1}));
  const auto layout = lay_out(table);
  ASSERT_TRUE(layout);
  EXPECT_FALSE(job_bubble(table, *layout, make_job_replay(table, *layout)));
}

}  // namespace
}  // namespace stepscope

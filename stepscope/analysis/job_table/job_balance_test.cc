// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_balance.h"

#include <gtest/gtest.h>

#include <random>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/analysis/runs/job_test_pipeline.h"

namespace stepscope {
namespace {

using test::PipelineJob;

// Compute of a stage takes `scale` of its time, on DP rank d `worker(d, stage)` of that, and varies
// by `noise` between operations.
PipelineJob uneven_job(int dp, std::vector<double> scale, double noise = 0,
                       std::function<double(int dp, int stage)> worker = {}) {
  PipelineJob job{.dp = dp, .stages = static_cast<int>(scale.size()), .batches = 8};
  job.lasts = [=](JobOp op, std::int64_t step, int d, int stage, int seq) {
    if (op > JobOp::backward_compute) return is_comm(op) ? 0.002 : 0.01;
    std::seed_seq seed{static_cast<int>(op), static_cast<int>(step), d, stage, seq};
    std::mt19937 random(seed);
    const double drawn = static_cast<double>(random() % 2'000'001) / 1e6 - 1;  // -1 to 1
    return (op == JobOp::forward_compute ? 0.1 : 0.2) * scale[static_cast<std::size_t>(stage)] *
           (worker ? worker(d, stage) : 1) * (1 + noise * drawn);
  };
  return job;
}

StragglerJob analysed(const PipelineJob& job) {
  const auto found = analyze_straggler_job(test::table_of(job), {});
  EXPECT_TRUE(found);
  return *found;
}

TEST(JobBalance, ScalesEachStageToTheMeanOfAll) {
  const PipelineJob job = uneven_job(2, {1, 1.5, 1, 2.5});  // their mean is 1.5
  const StragglerJob found = analysed(job);
  ASSERT_TRUE(found.balance);
  EXPECT_EQ(found.balance->slowest, 3);
  EXPECT_NEAR(found.balance->more, 2.5 / (3.5 / 3) - 1, 1e-6);
  EXPECT_NEAR(found.balance->step.count(), test::mean_step(uneven_job(2, {1.5, 1.5, 1.5, 1.5})),
              1e-6);
  EXPECT_NEAR(found.replayed.count(), test::mean_step(job), 1e-6);
  // Otherwise all kinds take equal time on all stages, so there is nothing else to explain.
  EXPECT_NEAR(found.balance->rem.value(), 1, 1e-3);
}

TEST(JobBalance, OneSlowWorkerIsNoSlowStage) {
  for (const int dp : {2, 3, 4}) {
    const StragglerJob found = analysed(uneven_job(
        dp, {1, 1, 1}, 0, [](int d, int stage) { return d == 1 && stage == 2 ? 1.5 : 1; }));
    ASSERT_TRUE(found.balance);
    EXPECT_NEAR(found.balance->more, 0, 1e-6);
    EXPECT_NEAR(found.balance->step.count(), found.replayed.count(), 1e-6);
    EXPECT_GT(found.s, 1.1);
  }
}

TEST(JobBalance, NeedsTwoStages) { EXPECT_FALSE(analysed(uneven_job(2, {1})).balance); }

TEST(JobBalance, FindsTheSlowStageInNoise) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    const auto draw = [&](double low, double high) {
      return low + (high - low) * static_cast<double>(random() % 10'001) / 1e4;
    };
    std::vector<double> scale(2 + random() % 5);
    for (double& s : scale) s = draw(0.985, 1.015);
    const double noise = draw(0, 0.05);
    const int dp = 1 + static_cast<int>(random() % 3);
    const StragglerJob even = analysed(uneven_job(dp, scale, noise));
    EXPECT_LT(even.balance.value().more, 0.05);
    const std::size_t slow = random() % scale.size();
    const double factor = draw(1.2, 1.5);
    scale[slow] *= factor;
    const StragglerJob found = analysed(uneven_job(dp, scale, noise));
    EXPECT_EQ(found.balance.value().slowest, static_cast<int>(slow));
    EXPECT_NEAR(found.balance->more, factor - 1, 0.08);
    EXPECT_LT(found.balance->step, 0.99 * found.replayed);
  }
}

}  // namespace
}  // namespace stepscope

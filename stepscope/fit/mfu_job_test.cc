// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/mfu_job.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

using std::chrono::milliseconds;

// A rank whose steps (by index) take 100 ms each: `compute` is computing.
RankResult rank_with(int rank, const std::vector<std::int64_t>& indices, int compute) {
  RankResult r;
  r.rank = rank;
  r.device.kind = "cuda";
  DeviceBudget& device = r.budget.devices.emplace_back();
  device.device = 0;
  for (const std::int64_t index : indices) {
    r.steps.emplace_back().index = index;
    Budget b;
    b[BudgetCategory::compute] = milliseconds(compute);
    b[BudgetCategory::idle_host] = milliseconds(100 - compute);
    device.steps.push_back(b);
    r.work.executed.steps.emplace_back().index = index;
  }
  return r;
}

JobResult job_of(std::vector<RankResult> ranks, const std::vector<std::int64_t>& common) {
  JobResult job;
  job.ranks = std::move(ranks);
  for (const std::int64_t index : common) job.steps.common.emplace_back().index = index;
  return job;
}

MfuFigures figures(double model_flops) {
  MfuFigures f;
  f.model_flops = {{std::string(flops_as_given), Flops{model_flops}}};
  f.peak = FlopRate{1e12};
  return f;
}

double percent_of(const MfuBudget& mfu, MfuTerm term) {
  for (const MfuShare& t : mfu.terms)
    if (t.term == term) return t.percent;
  return 0;
}

TEST(MfuOfJob, IsOverTheStepsThatAllRanksHave) {
  const JobResult job = job_of({rank_with(0, {1, 2}, 80), rank_with(1, {2}, 40)}, {2});
  // Two devices of 1 TFLOP/s for 100 ms: 2e11 at the peak.
  const auto mfu = mfu_of_job(job, figures(5e10));
  ASSERT_TRUE(mfu) << mfu.error().message();
  EXPECT_NEAR(mfu->mfu.value_or(0), 0.25, 1e-12);
  EXPECT_EQ(mfu->step, milliseconds(100));
  EXPECT_NEAR(percent_of(*mfu, MfuTerm::idle_host), 40, 1e-9);
  double sum = 0;
  for (const MfuShare& t : mfu->terms) sum += t.percent;
  EXPECT_NEAR(sum, 100, 1e-9);
}

TEST(MfuOfJob, ModelFlopsAreTheWholeWorldsAlsoWhereOneRankIsThere) {
  const JobResult job = job_of({rank_with(0, {1}, 80)}, {1});
  MfuFigures f = figures(8e10);
  f.world_size = 8;
  const auto mfu = mfu_of_job(job, f);
  ASSERT_TRUE(mfu) << mfu.error().message();
  EXPECT_NEAR(mfu->mfu.value_or(0), 0.1, 1e-12);
}

TEST(MfuOfJob, AWorldSmallerThanTheRanksIsTheRanks) {
  const JobResult job = job_of({rank_with(0, {1}, 80), rank_with(1, {1}, 80)}, {1});
  MfuFigures f = figures(2e10);
  f.world_size = 1;
  const auto mfu = mfu_of_job(job, f);
  ASSERT_TRUE(mfu) << mfu.error().message();
  EXPECT_NEAR(mfu->mfu.value_or(0), 0.1, 1e-12);
}

TEST(MfuOfJob, WithoutAPeakTheErrorAsksForOne) {
  const JobResult job = job_of({rank_with(0, {1}, 80)}, {1});
  MfuFigures f;
  const auto mfu = mfu_of_job(job, f);
  ASSERT_FALSE(mfu);
  EXPECT_NE(mfu.error().message().find("--peak-tflops"), std::string::npos);
}

TEST(MfuOfJob, ACpuIsCalledOne) {
  JobResult job = job_of({rank_with(0, {1}, 80)}, {1});
  job.ranks[0].device.kind = "cpu";
  job.ranks[0].device.name.clear();
  const auto mfu = mfu_of_job(job, MfuFigures{});
  ASSERT_FALSE(mfu);
  EXPECT_NE(mfu.error().message().find("CPU"), std::string::npos);
}

TEST(MfuOfJob, NoCommonStepIsAnError) {
  const JobResult apart = job_of({rank_with(0, {1}, 80), rank_with(1, {2}, 80)}, {});
  EXPECT_FALSE(mfu_of_job(apart, figures(1e10)));
  EXPECT_FALSE(mfu_of_job(JobResult{}, figures(1e10)));
}

TEST(MfuOfJob, TheBubbleIsOfReceivesInsideTheSteps) {
  JobResult job = job_of({rank_with(0, {1, 2}, 80)}, {2});
  for (Budget& b : job.ranks[0].budget.devices[0].steps) {
    b[BudgetCategory::idle_host] -= milliseconds(12);
    b[BudgetCategory::comm_exposed_wait] = milliseconds(12);
  }
  job.collectives.dimension_of = {Dimension::pp};
  RankCalls& rank = job.collectives.matches.ranks.emplace_back();
  auto& times = job.collectives.times.by_view.emplace_back();
  auto& exposed = job.collectives.exposed.emplace_back();
  const auto receive = [&](std::optional<std::uint32_t> step, int wait) {
    CollectiveCall& call = rank.calls.emplace_back();
    call.kind = CollectiveKind::recv;
    call.group = 0;
    call.step = step;
    call.end = milliseconds(20);
    times.push_back({milliseconds(wait), true});
    exposed.push_back(milliseconds(20));
  };
  receive(std::nullopt, 7);  // before the first step
  receive(0, 5);             // in a step that another rank lacks
  receive(1, 3);
  const auto mfu = mfu_of_job(job, figures(5e10));
  ASSERT_TRUE(mfu) << mfu.error().message();
  EXPECT_NEAR(percent_of(*mfu, MfuTerm::pipeline_bubble), 3, 1e-9);
  EXPECT_NEAR(percent_of(*mfu, MfuTerm::exposed_wait), 9, 1e-9);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/step_comparison.h"

#include <gtest/gtest.h>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/fit/expected_step.h"
#include "stepscope/fit/plan_evidence.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

Ns& at(std::array<Ns, name_class_count>& a, NameClass c) { return a[static_cast<std::size_t>(c)]; }
Ns& at(std::array<Ns, dimension_count>& a, Dimension d) { return a[static_cast<std::size_t>(d)]; }

// A step of 100 ms with every kind of work; `late` of it waits for another rank.
ClassTime some_of_all(int late) {
  ClassTime t;
  at(t.compute, NameClass::matmul) = milliseconds(30);
  at(t.compute, NameClass::attention) = milliseconds(10);
  at(t.compute, NameClass::norm) = milliseconds(3);
  at(t.compute, NameClass::elementwise) = milliseconds(4);
  at(t.compute, NameClass::copy) = milliseconds(2);
  at(t.compute, NameClass::other) = milliseconds(1);
  at(t.compute, NameClass::optimizer) = milliseconds(5);
  at(t.transfer, Dimension::tp) = milliseconds(6);
  at(t.transfer, Dimension::world) = milliseconds(7);
  at(t.unsplit, Dimension::dp) = milliseconds(8);
  at(t.wait, Dimension::dp) = milliseconds(late);
  at(t.wait, Dimension::pp) = milliseconds(4);
  return t;
}

Budget budget_of(int late) {
  Budget b;
  b[BudgetCategory::compute] = milliseconds(40);
  b[BudgetCategory::comm_overlapped] = milliseconds(15);
  b[BudgetCategory::comm_exposed_transfer] = milliseconds(13);
  b[BudgetCategory::comm_exposed_unsplit] = milliseconds(8);
  b[BudgetCategory::comm_exposed_wait] = milliseconds(4 + late);
  b[BudgetCategory::copy_exposed] = milliseconds(5);
  b[BudgetCategory::idle_host] = milliseconds(14 - late);
  b[BudgetCategory::idle_sync] = milliseconds(1);
  return b;
}

JobResult job_of(const std::vector<int>& late_by_rank) {
  JobResult job;
  job.steps.common.emplace_back().index = 3;
  job.steps.phases.emplace_back().phase = Phase::forward;
  job.steps.phases.emplace_back().phase = Phase::backward;
  for (std::size_t i = 0; i < late_by_rank.size(); ++i) {
    RankResult& r = job.ranks.emplace_back();
    r.rank = static_cast<int>(i);
    r.device.kind = "cuda";
    for (const std::int64_t index : {2, 3}) {  // some ranks lack step 2
      r.steps.emplace_back().index = index;
      r.counted.classes.push_back(index == 3 ? some_of_all(late_by_rank[i]) : ClassTime{});
    }
    r.budget.devices.push_back({0, {Budget{}, budget_of(late_by_rank[i])}, {}});
  }
  return job;
}

struct Bench {
  Transformer model = *find_model("gpt2");
  Machine machine = *machine_named("h100_sxm_80gb");
  Network network = *make_network(machine);

  [[nodiscard]] Result<StepComparison> compare(const JobResult& job, const Plan& plan,
                                               std::optional<int> world = {}) const {
    return compare_step(job, {.model = model,
                              .machine = machine,
                              .network = network,
                              .plan = plan,
                              .recorded_world = world});
  }
};

Plan plan_of(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
  Plan p;
  p.devices = tp * pp * dp;
  p.tp = tp;
  p.pp = pp;
  p.dp = dp;
  p.batch.sequence = 1024;
  p.batch.global = 8 * dp;
  return p;
}

double of(const StepComparison& c, StepClass kind) {
  for (const ClassComparison& row : c.classes)
    if (row.kind == kind) return row.measured * 1e3;
  return 0;
}

TEST(StepComparison, MeasuredClassesSumToTheMeanBudget) {
  const auto c = Bench().compare(job_of({2, 6}), plan_of(2, 2, 2));
  ASSERT_TRUE(c) << c.error().message();
  EXPECT_NEAR(c->measured, 0.1, 1e-15);
  double sum = 0;
  for (const ClassComparison& row : c->classes) sum += row.measured;
  EXPECT_NEAR(sum, 0.1, 1e-15);
  for (const RankSeconds& r : c->ranks) {
    double rank = 0;
    for (const double s : r.measured) rank += s;
    EXPECT_NEAR(rank, 0.1, 1e-15);
  }
  EXPECT_NEAR(of(*c, StepClass::matmul), 30, 1e-12);
  EXPECT_NEAR(of(*c, StepClass::elementwise), 7, 1e-12) << "with copies by kernels and the rest";
  EXPECT_NEAR(of(*c, StepClass::tensor_comm), 6, 1e-12);
  EXPECT_NEAR(of(*c, StepClass::data_comm), 8, 1e-12);
  EXPECT_NEAR(of(*c, StepClass::other_comm), 7, 1e-12) << "the world is no dimension of this plan";
  EXPECT_NEAR(of(*c, StepClass::bubble), 4, 1e-12);
  EXPECT_NEAR(of(*c, StepClass::wait), 4, 1e-12) << "the mean of the ranks";
  EXPECT_NEAR(of(*c, StepClass::copy), 5, 1e-12);
  EXPECT_NEAR(of(*c, StepClass::host), 11, 1e-12);
}

TEST(StepComparison, ExpectedClassesSumToThePredictedStepLargestGapFirst) {
  const Bench bench;
  const Plan plan = plan_of(2, 2, 2);
  const auto c = bench.compare(job_of({2}), plan);
  ASSERT_TRUE(c) << c.error().message();
  const auto expected = expected_step(bench.model, bench.machine, bench.network, plan);
  double sum = 0;
  for (const double s : expected->seconds) sum += s;
  EXPECT_EQ(c->expected, sum);
  double rows = 0;
  for (const ClassComparison& row : c->classes) rows += row.expected;
  EXPECT_NEAR(rows, sum, 1e-12 * sum);
  EXPECT_TRUE(std::ranges::is_sorted(c->classes, std::greater<>(), &ClassComparison::gap));
}

TEST(StepComparison, GroupsOfTheWholeWorldServeThePlansOnlyDimension) {
  EXPECT_EQ(class_of(Dimension::world, plan_of(1, 1, 8)), StepClass::data_comm);
  EXPECT_EQ(class_of(Dimension::unknown, plan_of(8, 1, 1)), StepClass::tensor_comm);
  EXPECT_EQ(class_of(Dimension::world, plan_of(1, 8, 1)), StepClass::pipeline_comm);
  EXPECT_EQ(class_of(Dimension::world, plan_of(2, 1, 4)), StepClass::other_comm);
  EXPECT_EQ(class_of(Dimension::sp, plan_of(2, 1, 4)), StepClass::tensor_comm);
  Plan experts = plan_of(1, 1, 8);
  experts.ep = 8;
  EXPECT_EQ(class_of(Dimension::world, experts), StepClass::other_comm);
}

TEST(StepComparison, NeedsStepsADeviceAndABackwardPass) {
  EXPECT_FALSE(cannot_compare(job_of({0})));
  JobResult job = job_of({0});
  job.steps.phases.pop_back();
  ASSERT_TRUE(cannot_compare(job));
  EXPECT_NE(cannot_compare(job)->message().find("no backward"), std::string::npos);
  job.steps.phases.emplace_back().phase = Phase::optimizer;
  EXPECT_FALSE(cannot_compare(job)) << "trained, only not seen to";
  job = job_of({0, 1});
  job.ranks[1].counted.classes.clear();
  ASSERT_TRUE(cannot_compare(job));
  EXPECT_NE(cannot_compare(job)->message().find("rank 1"), std::string::npos);
  job = job_of({0});
  job.steps.common.clear();
  EXPECT_TRUE(cannot_compare(job));
}

TEST(StepComparison, APlanThatTheModelCannotRunIsAnError) {
  Plan plan = plan_of(1, 1, 1);
  plan.batch.sequence = 2048;  // of 1024 learned positions
  EXPECT_FALSE(Bench().compare(job_of({0}), plan));
}

// One used group of `size` ranks, which serves `dimension`.
JobResult with_group(Dimension dimension, int size) {
  JobResult job = job_of({0});
  CollectiveMatches& m = job.collectives.matches;
  m.groups.push_back({.name = "g7", .description = "mesh", .ranks = {}, .size = size});
  m.ranks.emplace_back().calls.emplace_back().group = 0;
  job.collectives.dimension_of.push_back(dimension);
  return job;
}

std::string contradicts(const Plan& plan, const JobResult& job, std::optional<int> world = {}) {
  const auto error = contradiction(plan, job, world);
  return error ? error->message() : "";
}

TEST(PlanEvidence, AWorldOfAnotherSizeIsNamedBesideThePlans) {
  EXPECT_EQ(contradicts(plan_of(2, 1, 4), job_of({0}), 8), "");
  const std::string said = contradicts(plan_of(2, 1, 4), job_of({0}), 16);
  EXPECT_NE(said.find("8 devices"), std::string::npos) << said;
  EXPECT_NE(said.find("world of 16"), std::string::npos) << said;
  EXPECT_NE(contradicts(plan_of(1, 1, 1), job_of({0, 0})), "");
}

TEST(PlanEvidence, AGroupOfAnotherSizeIsNamedBesideThePlans) {
  const std::string said = contradicts(plan_of(2, 1, 4), with_group(Dimension::tp, 4));
  EXPECT_NE(said.find("tp = 2"), std::string::npos) << said;
  EXPECT_NE(said.find("\"mesh\""), std::string::npos) << said;
  EXPECT_NE(said.find("4 ranks"), std::string::npos) << said;
  EXPECT_NE(said.find("--tp 4"), std::string::npos) << said;
  EXPECT_EQ(contradicts(plan_of(4, 1, 2), with_group(Dimension::sp, 4)), "");
  EXPECT_NE(contradicts(plan_of(4, 1, 2), with_group(Dimension::dp, 3)), "");
  EXPECT_NE(contradicts(plan_of(4, 1, 2), with_group(Dimension::cp, 2)), "");
  EXPECT_EQ(contradicts(plan_of(1, 4, 2), with_group(Dimension::pp, 2)), "") << "neighbours";
  EXPECT_NE(contradicts(plan_of(1, 4, 2), with_group(Dimension::pp, 8)), "");
  EXPECT_EQ(contradicts(plan_of(4, 1, 2), with_group(Dimension::unknown, 3)), "");
}

TEST(PlanEvidence, DataGroupsMayBeThoseOfContextExpertsAndShards) {
  Plan plan = plan_of(1, 1, 8);
  plan.devices = 16;
  plan.cp = 2;
  plan.ep = 4;
  plan.zero = 3;
  plan.shard_group = 2;
  for (const int size : {16, 8, 4, 2})
    EXPECT_EQ(contradicts(plan, with_group(Dimension::dp, size)), "");
  EXPECT_NE(contradicts(plan, with_group(Dimension::dp, 3)), "");
}

void add_row(JobResult& job, CollectiveKind kind, Dimension dimension, std::int64_t bytes) {
  CollectiveRow& row = job.collectives.rows.emplace_back();
  row.kind = kind;
  row.dimension = dimension;
  row.bytes = Bytes{bytes};
  row.count = 4;
}

TEST(PlanEvidence, WhatDataParallelRanksShardIsThePlans) {
  Plan plan = plan_of(2, 1, 4);
  JobResult sharded = job_of({0});
  add_row(sharded, CollectiveKind::reduce_scatter, Dimension::dp, 1'000'000);
  EXPECT_NE(contradicts(plan, sharded).find("zero = 0"), std::string::npos);
  plan.zero = 1;
  EXPECT_EQ(contradicts(plan, sharded), "");
  plan.zero = 3;
  EXPECT_EQ(contradicts(plan, sharded), "") << "nothing is all-reduced";

  JobResult replicated = job_of({0});
  add_row(replicated, CollectiveKind::all_reduce, Dimension::dp, 1'000'000);
  EXPECT_NE(contradicts(plan, replicated).find("zero = 3"), std::string::npos);
  add_row(replicated, CollectiveKind::all_gather, Dimension::dp, 1'000'000);
  EXPECT_EQ(contradicts(plan, replicated), "");
  plan.zero = 0;
  EXPECT_EQ(contradicts(plan, replicated), "");

  JobResult tensor = job_of({0});
  add_row(tensor, CollectiveKind::reduce_scatter, Dimension::tp, 1'000'000);
  add_row(tensor, CollectiveKind::reduce_scatter, Dimension::dp, 1000);
  EXPECT_EQ(contradicts(plan, tensor), "") << "sequence parallelism, and a metric";
}

TEST(PlanEvidence, GroupsThatNobodyUsesSayNothing) {
  JobResult job = with_group(Dimension::tp, 4);
  job.collectives.matches.ranks.clear();
  EXPECT_EQ(contradicts(plan_of(1, 1, 8), job), "");
}

}  // namespace
}  // namespace stepscope

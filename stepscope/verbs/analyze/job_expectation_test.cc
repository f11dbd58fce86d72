// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/job_expectation.h"

#include <gtest/gtest.h>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

struct Given {
  JobDescription given;
  ParallelSizes sizes{};
};

Given llama(std::vector<PlanSetting> fields = {}, ParallelSizes sizes = {}) {
  Given g{{.model = "llama-2-7b", .global_batch = 64, .sequence = 2048}, sizes};
  g.given.plan.fields = std::move(fields);
  return g;
}

Result<Plan> plan_of(const Given& g, const Machine& machine, std::optional<int> world,
                     std::optional<Dtype> dtype = std::nullopt) {
  const auto job = described_job(g.given);
  if (!job) return job.error();
  return plan_of_run(g.given, *job, g.sizes, machine, world, {.dtype = dtype});
}

Result<Plan> plan_of(const Given& g, std::optional<int> world) {
  return plan_of(g, *machine_named("h100_sxm_80gb"), world);
}

TEST(PlanOfRun, DataParallelismIsWhatTheDegreesLeaveOfTheWorld) {
  const auto plan = plan_of(
      llama({{"cp", "2"}, {"zero", "3"}, {"micro-batch", "2"}, {"recompute", "full"}}, {.tp = 2}),
      32);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->devices, 32);
  EXPECT_EQ(plan->dp, 8);
  EXPECT_EQ(plan->zero, 3);
  EXPECT_EQ(plan->batch.micro, 2);
  EXPECT_EQ(plan->batch.global, 64);
  EXPECT_EQ(plan->batch.sequence, 2048);
  EXPECT_EQ(plan->memory.recompute, Recompute::full);
}

TEST(PlanOfRun, WithoutAWorldTheDegreesSayHowManyThereAre) {
  EXPECT_EQ(plan_of(llama({}, {.tp = 4, .pp = 2}), std::nullopt)->devices, 8);
  EXPECT_EQ(plan_of(llama({}, {.tp = 4, .dp = 3}), std::nullopt)->devices, 12);
  EXPECT_EQ(plan_of(llama(), std::nullopt)->devices, 1);
}

TEST(PlanOfRun, TheFormatIsTheTracesUnlessAFlagSaysOtherwise) {
  const Machine machine = *machine_named("v100_sxm2_32gb");
  EXPECT_EQ(plan_of(llama(), machine, 8, Dtype::fp16)->precision.matmul, Dtype::fp16);
  EXPECT_EQ(plan_of(llama(), machine, 8, Dtype::fp32)->precision.activation_bytes, 4);
  EXPECT_EQ(plan_of(llama({{"dtype", "fp16"}}), machine, 8, Dtype::fp32)->precision.matmul,
            Dtype::fp16);
  EXPECT_EQ(plan_of(llama(), machine, 8)->precision.matmul, Dtype::bf16);
}

TEST(PlanOfRun, DegreesThatAreNotTheWorldAreAnErrorThatNamesBoth) {
  const auto plan = plan_of(llama({}, {.tp = 3}), 8);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message().find("3 * 1 * 1"), std::string::npos);
  EXPECT_NE(plan.error().message().find("world of 8"), std::string::npos);
}

// What remarks and failures a job of one rank on `device` ("cpu", or a GPU of that name) gives.
struct Said {
  Messages remarks;
  bool failed = false;
  bool anything = false;
};

Said expected_of(const std::string& device, const Machine* machine, const Given& g,
                 bool trained = true) {
  Analysis report;
  JobResult& job = report.job;
  RankResult& r = job.ranks.emplace_back();
  r.device.kind = device == "cpu" ? "cpu" : "cuda";
  r.device.name = device == "cpu" ? "" : device;
  r.steps.emplace_back().index = 1;
  r.counted.classes.emplace_back();
  Budget step;
  step[BudgetCategory::idle_host] = Ns{1'000'000};
  r.budget.devices.push_back({0, {step}, {}});
  job.steps.common.emplace_back().index = 1;
  job.steps.phases.emplace_back().phase = Phase::forward;
  if (trained) job.steps.phases.emplace_back().phase = Phase::backward;
  if (machine != nullptr) report.machine = *machine;
  report.world_size = 1;
  Said said;
  std::vector<Error> failures;
  const auto described = described_job(g.given);
  said.anything =
      expected_of_job(g.given, *described, g.sizes, report, 1, said.remarks, failures).has_value();
  said.failed = !failures.empty();
  return said;
}

TEST(ExpectedOfJob, WithoutAMachineItSaysWhatToGive) {
  const Said cpu = expected_of("cpu", nullptr, llama());
  ASSERT_EQ(cpu.remarks.size(), 1U);
  EXPECT_NE(say(cpu.remarks[0]).find("--machine FILE"), std::string::npos);
  EXPECT_NE(say(cpu.remarks[0]).find("CPU"), std::string::npos);
  const Said odd = expected_of("Tesla V100-PCIE-32GB", nullptr, llama());
  ASSERT_EQ(odd.remarks.size(), 1U);
  EXPECT_NE(say(odd.remarks[0]).find("\"Tesla V100-PCIE-32GB\""), std::string::npos);
  EXPECT_TRUE(expected_of("cpu", nullptr, Given{}).remarks.empty()) << "nobody asked";
}

TEST(ExpectedOfJob, APlanThatWasGivenAndIsWrongFailsOneThatWasNotIsARemark) {
  const Machine machine = *machine_named("h100_sxm_80gb");
  EXPECT_TRUE(expected_of("NVIDIA H100 80GB HBM3", &machine, llama()).anything);
  EXPECT_TRUE(expected_of("NVIDIA H100 80GB HBM3", &machine, llama({}, {.tp = 2})).failed);
  const Said said = expected_of("NVIDIA H100 80GB HBM3", &machine, llama(), false);
  EXPECT_FALSE(said.failed);
  ASSERT_EQ(said.remarks.size(), 1U);
  EXPECT_NE(say(said.remarks[0]).find("no backward"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/job_description.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stepscope {
namespace {

// What is wrong with the description, or empty.
std::string complaint(const JobDescription& given) {
  const auto job = described_job(given);
  return job ? std::string() : job.error().message();
}

TEST(JobDescription, AnUnknownNumberFormatIsRefused) {
  EXPECT_NE(complaint({.peak_dtype = "int3"}).find("--peak-dtype int3"), std::string::npos);
  EXPECT_EQ(complaint({.peak_dtype = "bf16"}), "");
}

TEST(JobDescription, FiguresThatWereNotGivenStayAbsent) {
  const auto none = described_job({});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->model_flops.empty());
  EXPECT_FALSE(none->peak || none->price || none->dtype || none->machine);
  const auto some = described_job({.peak_tflops = 989, .model_flops_per_step = 2e15});
  ASSERT_TRUE(some);
  EXPECT_DOUBLE_EQ(some->peak->value, 989e12);
  ASSERT_EQ(some->model_flops.size(), 1U);
  EXPECT_DOUBLE_EQ(some->model_flops[0].per_step.value, 2e15);
  EXPECT_EQ(some->model_flops[0].convention, flops_as_given);
}

TEST(JobDescription, AModelGivesItsFlopsByEveryConvention) {
  JobDescription given{.model = "llama-2-7b"};
  EXPECT_NE(complaint(given).find("--global-batch N and --seq N"), std::string::npos);
  given.global_batch = 4;
  given.sequence = 2048;
  const auto job = described_job(given);
  ASSERT_TRUE(job);
  ASSERT_EQ(job->model_flops.size(), flops_convention_count);
  EXPECT_EQ(job->model_flops[0].convention, "causal attention halved");
  // 6 N T, N = 6,738,415,616.
  EXPECT_NEAR(job->model_flops[1].per_step.value / (6 * 6738415616.0 * 4 * 2048), 1, 1e-4);
  given.model_flops_per_step = 2e15;
  EXPECT_NE(complaint(given).find("two answers"), std::string::npos);
}

TEST(JobDescription, ABatchWithoutAModelAndAnUnknownModelAreRefused) {
  EXPECT_NE(complaint({.sequence = 2048}).find("give --model NAME"), std::string::npos);
  EXPECT_NE(complaint({.model = "llama9-7b", .global_batch = 1, .sequence = 2048})
                .find("did you mean llama-2-7b"),
            std::string::npos);
}

TEST(JobDescription, APlanIsOfAModelAndAFileOfItHasTheBatch) {
  JobDescription without;
  without.plan.fields = {{"micro-batch", "4"}, {"zero", "3"}};
  EXPECT_NE(complaint(without).find("give --model NAME"), std::string::npos);
  const auto path = std::filesystem::temp_directory_path() /
                    ("stepscope_plan_" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << R"({"devices": 8, "global_batch": 32, "sequence": 4096})";
  JobDescription with_file{.model = "llama-2-7b"};
  with_file.plan.plan_file = path.string();
  const auto job = described_job(with_file);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->global_batch, 32);
  EXPECT_EQ(job->sequence, 4096);
  EXPECT_TRUE(job->model);
  std::filesystem::remove(path);
  EXPECT_NE(complaint(with_file), "");
}

}  // namespace
}  // namespace stepscope

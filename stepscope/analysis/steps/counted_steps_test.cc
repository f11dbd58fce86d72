// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/counted_steps.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

using Lengths = std::vector<std::int64_t>;

Lengths lengths_of(std::span<const Step> steps) {
  Lengths lengths;
  for (const Step& s : steps) lengths.push_back((s.end - s.start).count());
  return lengths;
}

Lengths indices_of(std::span<const Step> steps) {
  Lengths indices;
  for (const Step& s : steps) indices.push_back(s.index);
  return indices;
}

// A step from `start` with one kernel that it launches, and its number.
void add_step(TestRank& r, std::int64_t number, std::int64_t start, std::int64_t end,
              std::int64_t kernel_end) {
  const auto correlation = static_cast<std::uint32_t>(number + 1);
  r.rows().step("ProfilerStep#" + std::to_string(number), start, end);
  r.rows().launch(correlation, start, start + 2);
  r.rows().kernel("sgemm", start + 5, kernel_end, correlation);
}

// Without a device: one operator a step.
void add_cpu_step(TestRank& r, std::int64_t number, std::int64_t start, std::int64_t end) {
  r.rows().step("ProfilerStep#" + std::to_string(number), start, end);
  r.rows().row(r.rows().thread(1), Category::cpu_op, "aten::mm", start, end);
}

TEST(CountedSteps, LastFromTheEndOfAStepToTheEndOfTheNextOnTheLastRank) {
  TestRank fast;
  TestRank late;
  for (std::int64_t k = 0; k < 4; ++k) {
    add_step(fast, k, 100 * k, 100 * (k + 1), 100 * k + 60);
    add_step(late, k, 100 * k, 100 * (k + 1), 100 * k + 70 + 5 * k);
  }
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(fast));
  ranks.push_back(std::move(late));
  const TestJob job(std::move(ranks));
  const CountedSteps together = count_steps(job.views(), true);
  EXPECT_EQ(indices_of(together.of_job), (Lengths{1, 2, 3}));
  EXPECT_EQ(lengths_of(together.of_job), (Lengths{105, 105, 105}));
  for (const auto& own : together.of_view) EXPECT_EQ(lengths_of(own), (Lengths{105, 105, 105}));
  // Clocks that cannot be compared: each rank for itself, and the slower one for the job.
  const CountedSteps apart = count_steps(job.views(), false);
  EXPECT_EQ(lengths_of(apart.of_view[0]), (Lengths{100, 100, 100}));
  EXPECT_EQ(lengths_of(apart.of_job), (Lengths{105, 105, 105}));
}

TEST(CountedSteps, LackWhatFollowsAStepThatIsNotRecorded) {
  TestRank r;
  for (const std::int64_t k : {0, 1, 2, 5, 6}) add_step(r, k, 100 * k, 100 * (k + 1), 100 * k + 60);
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(r));
  const TestJob job(std::move(ranks));
  EXPECT_EQ(indices_of(count_steps(job.views(), true).of_job), (Lengths{1, 2, 6}));
}

// All of them, and what lies between two of them belongs to the one before.
TEST(CountedSteps, WithoutADeviceTileTheRecordedTime) {
  TestRank a;
  TestRank b;
  for (std::int64_t k = 0; k < 3; ++k) {
    add_cpu_step(a, k, 100 * k, 100 * k + 90);
    add_cpu_step(b, k, 100 * k + 4, 100 * k + 95);
  }
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(a));
  ranks.push_back(std::move(b));
  const TestJob job(std::move(ranks));
  const CountedSteps counted = count_steps(job.views(), true);
  EXPECT_EQ(lengths_of(counted.of_job), (Lengths{100, 100, 95}));
  for (const auto& own : counted.of_view) {
    const Lengths all = lengths_of(own);
    EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{0}), 295);
  }
}

TEST(CountedSteps, OfOneStepAreThatStep) {
  TestRank r;
  add_step(r, 3, 0, 100, 80);
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(r));
  const TestJob job(std::move(ranks));
  const CountedSteps counted = count_steps(job.views(), true);
  EXPECT_EQ(indices_of(counted.of_job), (Lengths{3}));
  EXPECT_EQ(count_steps({}, true).of_job.size(), 0U);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/counted_steps.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "stepscope/analysis/runs/job_test_builder.h"
#include "stepscope/analysis/steps/trace_test_builder.h"

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

// Files that are cut have their tests in verbs/analyze/analyze_test.cc and read_trace_test.cc.

namespace {

// Steps of ten launches; `rows` kernels of each step are recorded.
TraceBuilder steps_with(std::initializer_list<int> rows) {
  TraceBuilder b;
  std::int64_t t = 0;
  std::uint32_t correlation = 0;
  int number = 0;
  for (const int recorded : rows) {
    b.step("ProfilerStep#" + std::to_string(number++), t, t + 990);
    for (int i = 0; i < 10; ++i) {
      ++correlation;
      b.op("aten::mm", t + 10 * i, t + 10 * i + 8);
      b.launch(correlation, t + 10 * i + 1, t + 10 * i + 5);
      if (i < recorded) b.kernel("gemm", t + 90 * i + 6, t + 90 * i + 80, correlation);
    }
    t += 1000;
  }
  return b;
}

std::vector<std::int64_t> lost_of(TraceBuilder b, std::size_t kept) {
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  std::vector<Step> steps = find_steps(trace, rank);
  const IncompleteSteps out = take_incomplete_steps(trace, rank, steps);
  EXPECT_EQ(steps.size(), kept);
  EXPECT_TRUE(out.cut.empty());
  std::vector<std::int64_t> lost;
  for (const Step& step : out.lost) lost.push_back(step.index);
  return lost;
}

using Lost = std::vector<std::int64_t>;

TEST(IncompleteSteps, LackTheKernelsOfATenthOfTheirLaunches) {
  EXPECT_EQ(lost_of(steps_with({0, 2, 10, 9, 10}), 2), (Lost{0, 1, 3}));
}

TEST(IncompleteSteps, AreKeptWhereNoneIsBetter) {
  EXPECT_EQ(lost_of(steps_with({5, 5, 0}), 3), Lost{});
}

TEST(IncompleteSteps, OfAWholeRecordingAreNone) {
  EXPECT_EQ(lost_of(steps_with({10, 10, 10}), 3), Lost{});
}

// The profiler that lost a buffer lost calls and kernels alike.
TEST(IncompleteSteps, HaveOperatorsButNeitherCallsNorRows) {
  TraceBuilder b = steps_with({10, 10});
  b.step("ProfilerStep#2", 2000, 2990);
  b.op("aten::mm", 2010, 2100);
  EXPECT_EQ(lost_of(std::move(b), 2), Lost{2});
}

TEST(IncompleteSteps, OnCpusAreNone) {
  TraceBuilder b;
  for (const int n : {0, 1}) {
    b.step("ProfilerStep#" + std::to_string(n), n * 100, n * 100 + 90);
    b.op("aten::mm", n * 100, n * 100 + 50);
  }
  EXPECT_EQ(lost_of(std::move(b), 2), Lost{});
}

}  // namespace

}  // namespace stepscope

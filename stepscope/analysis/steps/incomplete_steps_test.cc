// SPDX-License-Identifier: Apache-2.0
// Files that are cut have their tests in pipeline/analyze_test.cc and read_trace_test.cc.
#include "stepscope/analysis/steps/incomplete_steps.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
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

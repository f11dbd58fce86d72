// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/unseen_host.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

struct OneRank {
  Trace trace;
  RankIndex rank;
  std::vector<Step> steps;
  explicit OneRank(TraceBuilder& b)
      : trace(b.sealed()), rank(index_rank(trace)), steps(find_steps(trace, rank)) {}
  [[nodiscard]] RankView view() const { return {0, &trace, &rank, steps}; }
};

// Steps of 10 ms. Each launches a kernel at its start and at its end.
TraceBuilder four_steps() {
  TraceBuilder b;
  for (int s = 0; s < 4; ++s) {
    const std::int64_t at = 10'000 * us * s;
    const auto id = static_cast<std::uint32_t>(2 * s + 1);
    b.step("ProfilerStep#" + std::to_string(s), at, at + 10'000 * us);
    b.op("aten::first", at, at + 100 * us);
    b.launch(id, at + 10 * us, at + 20 * us);
    b.kernel("k", at + 30 * us, at + 90 * us, id);
    b.op("aten::last", at + 8'000 * us, at + 10'000 * us);
    b.launch(id + 1, at + 9'000 * us, at + 9'010 * us);
    b.kernel("k", at + 9'020 * us, at + 9'080 * us, id + 1);
  }
  return b;
}

TEST(UnseenHost, IsBetweenTheRowsOfAStep) {
  TraceBuilder b = four_steps();
  const OneRank r(b);
  const std::vector<HostSpan> unseen = unseen_host(r.view());
  ASSERT_EQ(unseen.size(), 4U);
  EXPECT_EQ(unseen[1].start, Ns{10'100 * us});
  EXPECT_EQ(unseen[1].end, Ns{18'000 * us});
  const auto work = unseen_work(std::array{r.view()});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->of_step, Ns{7'900 * us});
  EXPECT_EQ(work->between, "between aten::first and aten::last");
}

TEST(UnseenHost, IsNotWhatAnotherThreadOrAnInnermostAnnotationShows) {
  TraceBuilder b = four_steps();
  b.row(b.thread(2), Category::cpu_op, "autograd", 5'000 * us, 8'000 * us);
  b.row(b.thread(1), Category::user_annotation, "checkpoint", 10'100 * us, 18'000 * us);
  const OneRank r(b);
  const std::vector<HostSpan> unseen = unseen_host(r.view());
  ASSERT_EQ(unseen.size(), 3U);
  EXPECT_EQ(unseen[0].end, Ns{5'000 * us});
  EXPECT_EQ(unseen[1].start, Ns{20'100 * us});
}

TEST(UnseenHost, AnnotationsAroundOtherRowsTellNothing) {
  TraceBuilder b = four_steps();
  for (int s = 0; s < 4; ++s)
    b.row(b.thread(1), Category::user_annotation, "forward", 10'000 * us * s,
          10'000 * us * s + 9'990 * us);
  const OneRank r(b);
  EXPECT_EQ(unseen_host(r.view()).size(), 4U);
  EXPECT_EQ(unseen_work(std::array{r.view()})->between,
            "between aten::first and aten::last in forward");
}

TEST(UnseenHost, WhatALoaderDoesIsLoading) {
  TraceBuilder b = four_steps();
  b.row(b.thread(1), Category::user_annotation,
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 40'000 * us);
  const OneRank r(b);
  EXPECT_TRUE(unseen_host(r.view()).empty());
}

// One long stretch in one step is a pause, not what each step does.
TEST(UnseenHost, OfFewStepsIsNoWorkOfEachStep) {
  TraceBuilder b = four_steps();
  for (int s = 0; s < 2; ++s)
    b.row(b.thread(2), Category::cpu_op, "autograd", 10'000 * us * s, 10'000 * us * (s + 1));
  const OneRank r(b);
  EXPECT_EQ(unseen_host(r.view()).size(), 2U);
  EXPECT_FALSE(unseen_work(std::array{r.view()}));
}

TEST(UnseenHost, OfFewViewsIsNoWorkOfTheJob) {
  TraceBuilder b = four_steps();
  const OneRank with(b);
  TraceBuilder c = four_steps();
  c.row(c.thread(2), Category::cpu_op, "autograd", 0, 40'000 * us);
  const OneRank without(c);
  RankView other = without.view();
  other.rank = 1;
  const auto half = unseen_work(std::array{with.view(), other});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->ranks, std::vector<int>{0});
  EXPECT_EQ(half->of_step, Ns{7'900 * us});
  EXPECT_FALSE(unseen_work(std::array{with.view(), other, other}));
  // Two windows of one rank are its work, not twice as much.
  const auto windows = unseen_work(std::array{with.view(), with.view()});
  EXPECT_EQ(windows->of_step, Ns{7'900 * us});
  EXPECT_TRUE(windows->ranks.empty());
}

TEST(UnseenHost, PlacesOfWhichNoneHasHalfAreNotNamed) {
  TraceBuilder b;
  for (int s = 0; s < 4; ++s) {
    const std::int64_t at = 10'000 * us * s;
    b.step("ProfilerStep#" + std::to_string(s), at, at + 10'000 * us);
    for (int k = 0; k < 3; ++k)
      b.op("aten::op" + std::to_string(k), at + 3'300 * us * k, at + (3'300 * k + 100) * us);
    b.op("aten::end", at + 9'900 * us, at + 10'000 * us);
  }
  const OneRank r(b);
  const auto work = unseen_work(std::array{r.view()});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->between, "");
}

TEST(UnseenHost, WithoutStepsOrHostRowsThereIsNone) {
  TraceBuilder b;
  b.kernel("k", 0, 100);
  const OneRank r(b);
  EXPECT_TRUE(unseen_host(r.view()).empty());
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

// 1000 kernels of 1 µs, 1 µs apart, inside one operator.
TestJob many_kernels() {
  TestRank rank;
  rank.rows().op("aten::loop", 0, 2'000'000);
  for (int i = 0; i < 1000; ++i)
    rank.rows().kernel(i % 2 == 0 ? "gemm" : "softmax", i * 2000, i * 2000 + 1000);
  TestJob job;
  job.add(3, std::move(rank));
  return job;
}

std::size_t blocks_of(const Timeline& timeline) {
  std::size_t count = 0;
  for (const TimelineTrack& t : timeline.tracks) count += t.blocks.size();
  return count;
}

const TimelineTrack* track(const Timeline& timeline, TimelineKind kind) {
  const auto at = std::ranges::find(timeline.tracks, kind, &TimelineTrack::kind);
  return at == timeline.tracks.end() ? nullptr : &*at;
}

TEST(Timeline, WhatFitsIsShownAsItIs) {
  const TestJob job = many_kernels();
  const Timeline timeline = make_timeline(job.views());
  EXPECT_FALSE(timeline.reduced);
  const TimelineTrack* device = track(timeline, TimelineKind::compute);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->rank, 3);
  ASSERT_EQ(device->blocks.size(), 1000U);
  Ns busy{};
  for (const TimelineBlock& b : device->blocks) busy += b.dur;
  EXPECT_EQ(busy, Ns{1'000'000});
  EXPECT_EQ(timeline.names.at(device->blocks[1].name), "softmax");
}

TEST(Timeline, TheLimitHoldsAndNoBusyTimeIsLost) {
  const TestJob job = many_kernels();
  for (const std::size_t limit : {900U, 100U, 10U, 2U}) {
    const Timeline timeline = make_timeline(job.views(), limit);
    EXPECT_LE(blocks_of(timeline), limit);
    EXPECT_TRUE(timeline.reduced);
    const TimelineTrack* device = track(timeline, TimelineKind::compute);
    ASSERT_NE(device, nullptr);
    Ns covered{};
    for (const TimelineBlock& b : device->blocks) covered += b.dur;
    EXPECT_GE(covered, Ns{1'000'000});
    EXPECT_EQ(device->blocks.front().start, Ns{0});
    EXPECT_EQ(device->blocks.back().start + device->blocks.back().dur, Ns{1'999'000});
  }
}

TEST(Timeline, CommunicationAndCopiesHaveRowsOfTheirOwn) {
  TestRank rank;
  rank.rows().kernel("gemm", 0, 100);
  rank.comm(all_reduce_kernel, 50, 150);
  rank.rows().row(rank.rows().stream(0, 9), Category::memcpy, "Memcpy HtoD", 10, 20);
  TestJob job;
  job.add(0, std::move(rank));
  const Timeline timeline = make_timeline(job.views());
  for (const TimelineKind kind :
       {TimelineKind::compute, TimelineKind::communication, TimelineKind::copy}) {
    const TimelineTrack* found = track(timeline, kind);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->blocks.size(), 1U);
  }
}

TEST(Timeline, TheHostShowsItsOutermostRowsAndNotTheStepItself) {
  TestRank rank;
  rank.rows().step("ProfilerStep#7", 0, 1000);
  rank.rows().op("aten::linear", 100, 300);
  rank.rows().op("aten::addmm", 150, 250);
  rank.rows().kernel("gemm", 400, 500);
  TestJob job;
  job.add(0, std::move(rank));
  const Timeline timeline = make_timeline(job.views());
  const TimelineTrack* host = track(timeline, TimelineKind::host);
  ASSERT_NE(host, nullptr);
  ASSERT_EQ(host->blocks.size(), 1U);
  EXPECT_EQ(timeline.names.at(host->blocks[0].name), "aten::linear");
  EXPECT_NE(host->label.find("(main)"), std::string::npos);
}

TEST(Timeline, ABlockKnowsItsStep) {
  TestRank rank;
  rank.rows().step("ProfilerStep#7", 0, 1000);
  rank.rows().launch(1, 10, 20);
  rank.rows().kernel("gemm", 100, 500, 1);
  rank.rows().kernel("early", 20, 50);
  TestJob job;
  job.add(0, std::move(rank));
  const Timeline timeline = make_timeline(job.views());
  const TimelineTrack* device = track(timeline, TimelineKind::compute);
  ASSERT_NE(device, nullptr);
  ASSERT_EQ(device->blocks.size(), 2U);
  EXPECT_EQ(device->blocks[0].step, -1);
  EXPECT_EQ(device->blocks[1].step, 7);
}

}  // namespace
}  // namespace stepscope

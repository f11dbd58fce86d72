// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/stream_order.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

struct OrderedStreams {
  Trace trace;
  RankIndex rank;
  std::vector<SliceId> ops;
  std::vector<StreamPlace> places;

  explicit OrderedStreams(TraceBuilder& rows) : trace(rows.sealed()), rank(index_rank(trace)) {
    for (const DeviceLane& lane : rank.devices)
      ops.insert(ops.end(), lane.ops.begin(), lane.ops.end());
    places = stream_order(trace, rank, ops);
  }
};

// cudaLaunchKernelExC: the second kernel begins 1.5 µs before the first has ended.
TEST(StreamOrder, AKernelThatBeginsEarlyFollowsTheOneThatItCuts) {
  TraceBuilder rows;
  rows.kernel("prepare", 0, 3100, 1);
  rows.kernel("attention", 1600, 97000, 2);
  rows.kernel("next", 98000, 99000, 3);
  const OrderedStreams s(rows);
  EXPECT_EQ(s.places[0].end, Ns{1600});
  EXPECT_FALSE(s.places[0].unknown_end);
  EXPECT_EQ(s.places[1].before, 0U);
  EXPECT_EQ(s.places[1].end, Ns{97000});
  EXPECT_EQ(s.places[2].before, 1U);
}

// It may also begin right after its predecessor has begun.
TEST(StreamOrder, TheOverlapMayBeNearlyTheWholeKernel) {
  TraceBuilder rows;
  rows.kernel("first", 0, 50 * us, 1);
  rows.kernel("second", 2 * us, 60 * us, 2);
  rows.kernel("third", 3 * us, 70 * us, 3);
  const OrderedStreams s(rows);
  EXPECT_EQ(s.places[0].end, Ns{2 * us});
  EXPECT_EQ(s.places[1].end, Ns{3 * us});
  EXPECT_EQ(s.places[1].before, 0U);
  EXPECT_EQ(s.places[2].before, 1U);
}

TEST(StreamOrder, StreamsDoNotCutEachOther) {
  TraceBuilder rows;
  rows.kernel("first", 0, 50 * us, 1);
  rows.row(rows.stream(0, 20), Category::kernel, "other", 20 * us, 80 * us, 2);
  rows.kernel("second", 60 * us, 70 * us, 3);
  const OrderedStreams s(rows);
  EXPECT_EQ(s.places[0].end, Ns{50 * us});
  EXPECT_EQ(s.places[1].before, no_use);
  EXPECT_EQ(s.places[2].before, 0U);
}

// Two branches of a graph run at once. The node that joins them follows the longer one.
TEST(StreamOrder, BranchesOfAGraphFollowWhatEndedBeforeThem) {
  TraceBuilder rows;
  rows.row(rows.thread(1), Category::runtime, "cudaGraphLaunch", 0, 5 * us, 9);
  rows.kernel("root", 10 * us, 20 * us, 9);
  rows.kernel("long", 21 * us, 60 * us, 9);
  rows.kernel("short", 22 * us, 30 * us, 9);
  rows.kernel("after short", 31 * us, 40 * us, 9);
  rows.kernel("both", 61 * us, 70 * us, 9);
  const OrderedStreams s(rows);
  EXPECT_EQ(s.places[1].end, Ns{60 * us});
  EXPECT_EQ(s.places[2].before, 0U);
  EXPECT_EQ(s.places[3].before, 2U);
  EXPECT_EQ(s.places[4].before, 1U);
  for (const StreamPlace& place : s.places) EXPECT_FALSE(place.unknown_end);
}

TEST(StreamOrder, AKernelThatEndsAfterItsSuccessorsHasNoKnownEnd) {
  TraceBuilder rows;
  rows.kernel("a", 0, 10 * us, 1);
  rows.kernel("lost end", 12 * us, 90'000 * us, 2);
  rows.kernel("c", 30 * us, 40 * us, 3);
  rows.kernel("d", 45 * us, 50 * us, 4);
  const OrderedStreams s(rows);
  EXPECT_TRUE(s.places[1].unknown_end);
  EXPECT_EQ(s.places[1].end, Ns{30 * us});
  EXPECT_EQ(s.places[2].before, 1U);
  EXPECT_EQ(s.places[3].before, 2U);
  EXPECT_FALSE(s.places[2].unknown_end || s.places[3].unknown_end);
}

// A lane that shows rows inside rows is not one stream.
TEST(StreamOrder, NestedRowsKeepTheirEnds) {
  TraceBuilder rows;
  for (std::uint32_t i = 0; i < 4; ++i) {
    rows.kernel("outer", 100 * us * i, (100 * i + 90) * us, 2 * i + 1);
    rows.kernel("inner", (100 * i + 20) * us, (100 * i + 30) * us, 2 * i + 2);
  }
  const OrderedStreams s(rows);
  for (std::size_t i = 0; i < 8; i += 2) {
    EXPECT_FALSE(s.places[i].unknown_end);
    EXPECT_EQ(s.places[i].end - s.trace.slices.start[index(s.ops[i])], Ns{90 * us});
  }
  EXPECT_EQ(s.places[3].before, 0U);  // the outer row before it
}

// Calls from before the recording have no rows, but their operations have the calls' numbers.
TEST(LaunchOrder, WhatWasLaunchedBeforeTheRecordingComesFirst) {
  TraceBuilder rows;
  rows.kernel("a", 0, 10 * us, 100);
  rows.row(rows.stream(0, 20), Category::kernel, "b", 11 * us, 30 * us, 101);
  for (std::uint32_t i = 0; i < 3; ++i) {
    rows.launch(110 + i, (5 + i) * us, (5 + i) * us + 500);
    rows.kernel("c", (12 + 3 * i) * us, (14 + 3 * i) * us, 110 + i);
  }
  const OrderedStreams s(rows);
  const std::vector<std::uint64_t> order = launch_order(s.trace, s.rank, s.ops);
  EXPECT_EQ(order[0], 100U);
  EXPECT_EQ(order[1], 101U);
  EXPECT_LT(order[1], order[2]);
  EXPECT_LT(order[2], order[3]);
}

TEST(LaunchOrder, NumbersThatFallAlongAStreamAreNoOrder) {
  TraceBuilder rows;
  rows.kernel("a", 2 * us, 10 * us, 7);
  rows.kernel("b", 12 * us, 20 * us, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    rows.launch(110 + i, (5 + i) * us, (5 + i) * us + 500);
    rows.kernel("c", (22 + 3 * i) * us, (24 + 3 * i) * us, 110 + i);
  }
  const OrderedStreams s(rows);
  const std::vector<std::uint64_t> order = launch_order(s.trace, s.rank, s.ops);
  EXPECT_EQ(order[0], 0U);
  EXPECT_EQ(order[1], 0U);
  EXPECT_GT(order[2], 0U);
}

}  // namespace

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_edges.h"

#include <gtest/gtest.h>

#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

// "B1a E3 ...": begin or end, time in µs, name; all on one track.
Trace trace_of_edges(std::string_view spelled, std::string_view tid = "1") {
  std::string events;
  for (std::size_t p = 0; p < spelled.size();) {
    const std::size_t end = std::min(spelled.find(' ', p), spelled.size());
    const std::string_view edge = spelled.substr(p, end - p);
    const std::size_t name = edge.find_first_not_of("0123456789", 1);
    events += test::joined({events.empty() ? "" : ",", R"({"ph": ")", edge.substr(0, 1),
                            R"(", "ts": )", edge.substr(1, name - 1), R"(, "pid": 1, "tid": )", tid,
                            R"(, "cat": "cpu_op", "name": ")",
                            name == std::string_view::npos ? "" : edge.substr(name), "\"}"});
    p = end + 1;
  }
  return test::trace_of(test::document(events));
}

TEST(EventEdges, NestedRangesCloseFromTheInside) {
  EXPECT_EQ(test::slices_of(trace_of_edges("B1a B2b E3b E9a")), "a 1000 8000, b 2000 1000");
  EXPECT_EQ(test::slices_of(trace_of_edges("B1a B2b E3 E9")), "a 1000 8000, b 2000 1000");
}

TEST(EventEdges, FileOrderDecidesOnlyAmongEqualTimes) {
  EXPECT_EQ(test::slices_of(trace_of_edges("E3a B1a")), "a 1000 2000");
  EXPECT_EQ(test::slices_of(trace_of_edges("B1a E2a B2b E4b")), "a 1000 1000, b 2000 2000");
}

TEST(EventEdges, NamesPairRangesThatOverlapWithoutNesting) {
  const Trace t = trace_of_edges("B1a B2b E3a E4b");
  EXPECT_EQ(test::slices_of(t), "a 1000 2000, b 2000 2000");
  EXPECT_TRUE(t.notes.counts.empty());
}

TEST(EventEdges, WhatDoesNotPairIsCounted) {
  const Trace t = trace_of_edges("E1x B2a B3b E5other B7c E8c");
  EXPECT_EQ(test::slices_of(t), "a 2000 6000, b 3000 2000, c 7000 1000");
  EXPECT_EQ(test::noted(t, "end_without_begin"), 1U);
  EXPECT_EQ(test::noted(t, "end_of_other_name"), 1U);
  EXPECT_EQ(test::noted(t, "begin_without_end"), 1U);
}

TEST(EventEdges, ManyOpenRangesThatEndInTheirOrderTakeNoLongWalk) {
  static constexpr int count = 100'000;
  Trace trace;
  std::vector<Edge> edges;
  for (int i = 0; i < 2 * count; ++i) {
    Edge& edge = edges.emplace_back();
    edge.time = Ns{i};
    edge.byte = static_cast<std::uint64_t>(i);
    edge.name = trace.strings.intern(std::to_string(i % count));
    edge.begin = i < count;
  }
  trace.tracks.emplace_back();
  pair_edges(trace, std::move(edges));
  ASSERT_EQ(trace.slices.size(), std::size_t{count});
  EXPECT_TRUE(std::ranges::all_of(trace.slices.dur, [](Ns t) { return t == Ns{count}; }));
  EXPECT_TRUE(trace.notes.counts.empty());
}

TEST(EventEdges, TracksPairApart) {
  const Trace t = test::trace_of(test::document(
      R"({"ph": "B", "name": "a", "pid": 1, "tid": 1, "ts": 1}, {"ph": "B", "name": "a",
          "pid": 1, "tid": 2, "ts": 2},
         {"ph": "E", "name": "a", "pid": 1, "tid": 1, "ts": 3}, {"ph": "E", "name": "a",
          "pid": 1, "tid": 2, "ts": 9})"));
  EXPECT_EQ(test::slices_of(t), "a 1000 2000, a 2000 7000");
}

TEST(EventEdges, AnEndNeedNotRepeatWhatItsBeginSays) {
  const Trace t = test::trace_of(test::document(
      R"({"ph": "B", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": 1,
          "args": {"stream": 7, "device": 0}}, {"ph": "E", "pid": 0, "tid": 3, "ts": 4},
         {"ph": "B", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 3, "ts": 6,
          "args": {"stream": 7, "device": 0}}, {"ph": "E", "name": "gemm", "pid": 0, "tid": 3,
          "ts": 8})"));
  EXPECT_EQ(test::slices_of(t), "gemm 1000 3000, gemm 6000 2000");
  EXPECT_TRUE(t.notes.counts.empty());
  ASSERT_EQ(t.tracks.size(), 1U);
  EXPECT_EQ(t.tracks[0].tid, 7);
}

}  // namespace
}  // namespace stepscope

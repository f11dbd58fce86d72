// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/range.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace stepscope {
namespace {

using namespace std::chrono_literals;

TEST(Range, NestsAndEndsInnerFirst) {
  SpanRing ring(16);
  {
    const RangeRecording recording(ring);
    const Range step("step");
    {
      const Range forward("forward");
      const std::string name = std::string("layer ").append(std::to_string(3));
      const Range layer(name);
    }
    const Range backward("backward");
  }
  const auto spans = ring.spans();
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0].name(), "layer 3");
  EXPECT_EQ(spans[0].depth, 2);
  EXPECT_EQ(spans[1].name(), "forward");
  EXPECT_EQ(spans[1].depth, 1);
  EXPECT_EQ(spans[2].name(), "backward");
  EXPECT_EQ(spans[2].depth, 1);
  EXPECT_EQ(spans[3].name(), "step");
  EXPECT_EQ(spans[3].depth, 0);
  for (const NamedSpan& inner : spans) {
    EXPECT_GE(inner.begin, spans[3].begin);
    EXPECT_LE(inner.end, spans[3].end);
    EXPECT_LE(inner.begin, inner.end);
    EXPECT_EQ(inner.kind, SpanKind::range);
  }
  EXPECT_LE(spans[1].end, spans[2].begin);
}

TEST(Range, WithoutARecordingIsNothing) {
  SpanRing ring(4);
  {
    const Range before("before");
    const RangeRecording recording(ring);
    const Range inside("inside");
  }
  const Range after("after");
  ASSERT_EQ(ring.spans().size(), 1U);
  EXPECT_EQ(ring.spans()[0].name(), "inside");
}

TEST(Range, EachThreadHasItsOwnRing) {
  std::vector<SpanRing> rings;
  for (int i = 0; i < 3; ++i) rings.emplace_back(1000);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < rings.size(); ++t)
    threads.emplace_back([&rings, t] {
      const RangeRecording recording(rings[t]);
      const std::string name = std::string("thread ").append(std::to_string(t));
      for (int i = 0; i < 100; ++i) const Range range(name);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < rings.size(); ++t) {
    ASSERT_EQ(rings[t].spans().size(), 100U);
    EXPECT_EQ(rings[t].spans()[99].name(), "thread " + std::to_string(t));
  }
}

TEST(SpanRing, KeepsTheLastAndCountsTheRest) {
  SpanRing ring(3);
  for (int i = 0; i < 5; ++i)
    ring.add(std::string("s").append(std::to_string(i)), 0, Ns{i}, Ns{i + 1}, SpanKind::operation,
             7, 9);
  const auto spans = ring.spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].name(), "s2");
  EXPECT_EQ(spans[2].name(), "s4");
  EXPECT_EQ(spans[2].kind, SpanKind::operation);
  EXPECT_EQ(spans[2].shape, 7U);
  EXPECT_EQ(spans[2].detail, 9U);
  EXPECT_EQ(ring.overwritten(), 2U);
  ring.clear();
  EXPECT_TRUE(ring.spans().empty());
  EXPECT_EQ(ring.overwritten(), 0U);
}

TEST(SpanRing, LongNamesAreCutBetweenCharacters) {
  SpanRing ring(2);
  ring.add(std::string(36, 'x') + "é", 0, {}, {}, SpanKind::range);
  ring.add(std::string(100, 'y'), 0, {}, {}, SpanKind::range);
  EXPECT_EQ(ring.spans()[0].name(), std::string(36, 'x'));
  EXPECT_EQ(ring.spans()[1].name(), std::string(37, 'y'));
}

TEST(Range, SaysWhetherNvtxIsThere) {
#ifdef STEPSCOPE_NVTX
  EXPECT_TRUE(ranges_reach_nvtx());
  const Range range("harmless without a profiler");
#else
  EXPECT_FALSE(ranges_reach_nvtx());
#endif
}

}  // namespace
}  // namespace stepscope

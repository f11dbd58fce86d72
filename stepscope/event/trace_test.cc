// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/trace.h"

#include <gtest/gtest.h>

#include <random>

namespace stepscope {
namespace {

Trace with_tracks(std::size_t n) {
  Trace trace;
  trace.tracks.resize(n);
  return trace;
}

TEST(Trace, SealingSortsByTrackThenStartThenLongestFirst) {
  Trace trace = with_tracks(2);
  const StringId a = trace.strings.intern("a");
  append(trace, {.start = Ns{5}, .dur = Ns{1}, .name = a, .track = TrackId{1}});
  append(trace, {.start = Ns{3}, .dur = Ns{1}, .name = a, .track = TrackId{0}});
  append(trace, {.start = Ns{3}, .dur = Ns{9}, .name = a, .track = TrackId{0}});
  append(trace, {.start = Ns{1}, .dur = Ns{2}, .name = a, .track = TrackId{1}});
  seal(trace);
  EXPECT_EQ(trace.tracks[0].first, 0U);
  EXPECT_EQ(trace.tracks[0].count, 2U);
  EXPECT_EQ(trace.tracks[1].first, 2U);
  EXPECT_EQ(trace.slices.dur, (std::vector<Ns>{Ns{9}, Ns{1}, Ns{2}, Ns{1}}));
  EXPECT_EQ(trace.slices.start, (std::vector<Ns>{Ns{3}, Ns{3}, Ns{1}, Ns{5}}));
}

TEST(Trace, SealingKeepsEveryRowTogetherOnRandomInput) {
  std::mt19937 random(7);
  Trace trace = with_tracks(5);
  constexpr std::size_t n = 5000;
  for (std::size_t i = 0; i < n; ++i) {
    const auto key = static_cast<std::uint32_t>(random() % 1000);
    append(trace, {.start = Ns{key},
                   .dur = Ns{key * 2},
                   .name = empty_string,
                   .track = TrackId{key % 5},
                   .category = static_cast<Category>(key % category_count),
                   .correlation = key + 1,
                   .external_id = key + 2,
                   .detail = key + 3});
  }
  seal(trace, 2);
  ASSERT_EQ(trace.slices.size(), n);
  for (std::size_t t = 0; t < 5; ++t) {
    const Track& track = trace.tracks[t];
    for (std::size_t i = track.first; i < track.first + track.count; ++i) {
      const auto key = static_cast<std::uint32_t>(trace.slices.start[i].count());
      EXPECT_EQ(key % 5, t);
      EXPECT_EQ(trace.slices.dur[i], Ns{key * 2});
      EXPECT_EQ(trace.slices.correlation[i], key + 1);
      EXPECT_EQ(trace.slices.external_id[i], key + 2);
      EXPECT_EQ(trace.slices.detail[i], key + 3);
      EXPECT_EQ(static_cast<std::size_t>(trace.slices.category[i]), key % category_count);
      if (i > track.first) {
        EXPECT_LE(trace.slices.start[i - 1], trace.slices.start[i]);
      }
    }
  }
}

TEST(Trace, CollectivesFollowTheirSlicesThroughSealing) {
  Trace trace = with_tracks(1);
  const SliceId late = append(trace, {.start = Ns{10}});
  const SliceId early = append(trace, {.start = Ns{1}});
  trace.collectives.push_back({.slice = late, .seq = 2});
  trace.collectives.push_back({.slice = early, .seq = 1});
  seal(trace);
  ASSERT_NE(trace.collective(SliceId{0}), nullptr);
  EXPECT_EQ(trace.collective(SliceId{0})->seq, 1);
  EXPECT_EQ(trace.collective(SliceId{1})->seq, 2);
  EXPECT_EQ(trace.collective(SliceId{2}), nullptr);
}

TEST(Trace, NamesAreClassifiedByTheRowsThatCarryThem) {
  Trace trace = with_tracks(1);
  const StringId nccl = trace.strings.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  const SliceId kernel = append(trace, {.name = nccl, .category = Category::kernel});
  append(trace, {.start = Ns{5}, .name = nccl, .category = Category::cpu_op});
  seal(trace);
  EXPECT_TRUE(trace.is_communication(kernel));
  EXPECT_FALSE(trace.is_communication(SliceId{1})) << "a host row is no communication kernel";
}

TEST(Trace, MemoryEventsAreSortedByTime) {
  Trace trace;
  for (const std::int64_t t : {30, 10, 20}) {
    trace.memory.time.push_back(Ns{t});
    trace.memory.track.push_back(TrackId{});
    trace.memory.address.push_back(static_cast<std::uint64_t>(t));
    trace.memory.bytes.push_back(Bytes{t});
    trace.memory.total_allocated.push_back(Bytes{t});
    trace.memory.total_reserved.push_back(Bytes{-1});
    trace.memory.device.push_back(0);
  }
  seal(trace);
  EXPECT_EQ(trace.memory.address, (std::vector<std::uint64_t>{10, 20, 30}));
}

}  // namespace

}  // namespace stepscope

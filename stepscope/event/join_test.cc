// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/join.h"

#include <gtest/gtest.h>

#include "stepscope/event/trace_test_text.h"

namespace stepscope {
namespace {

// A part with one row of each kind for each given number, in order.
Trace part(std::initializer_list<int> numbers) {
  Trace t;
  for (const int n : numbers) {
    const std::int64_t tid = n % 2;
    const Track track{.pid = 1, .tid = tid, .process_name = t.strings.intern("p")};
    TrackId id{static_cast<std::uint32_t>(t.tracks.size())};
    for (std::uint32_t i = 0; i < t.tracks.size(); ++i)
      if (t.tracks[i].tid == tid) id = TrackId{i};
    if (index(id) == t.tracks.size()) t.tracks.push_back(track);
    const StringId name = t.strings.intern(std::string("n").append(std::to_string(n)));
    t.copies.bytes.push_back(Bytes{n});
    const SliceId slice = append(t, {.start = Ns{5},
                                     .dur = Ns{1},
                                     .name = name,
                                     .track = id,
                                     .category = Category::memcpy,
                                     .detail = static_cast<std::uint32_t>(t.copies.size() - 1)});
    t.collectives.push_back({.slice = slice, .name = name});
    t.counters.time.push_back(Ns{n});
    t.counters.metric.push_back(name);
    t.counters.value.push_back(n);
    t.counters.slice.push_back(slice);
    t.memory.time.push_back(Ns{0});
    t.memory.track.push_back(id);
    t.memory.address.push_back(static_cast<std::uint64_t>(n));
    t.memory.bytes.push_back(Bytes{n});
    t.memory.total_allocated.push_back(Bytes{-1});
    t.memory.total_reserved.push_back(Bytes{-1});
    t.memory.device.push_back(0);
    t.notes.events += 1;
  }
  return t;
}
RowStretch stretch(std::uint32_t part, std::uint32_t first) { return {part, first, first, first}; }

TEST(Join, StretchesComeInTheirOrderWhoeverReadThem) {
  Trace expected = part({1, 2, 3, 4, 5, 6});
  seal(expected);
  for (const unsigned threads : {1U, 3U}) {
    std::vector<Trace> parts;
    parts.push_back(part({3, 6}));  // the third and sixth stretch
    parts.push_back(part({}));      // a part without stretches
    parts.push_back(part({1, 2, 4, 5}));
    const std::vector<RowStretch> order = {stretch(2, 0), stretch(0, 0), stretch(2, 2),
                                           stretch(2, 3), stretch(2, 4), stretch(0, 1)};
    Joined joined = join(std::move(parts), order, threads);
    seal(joined.trace);
    EXPECT_EQ(test::text_of(joined.trace), test::text_of(expected));
    EXPECT_EQ(test::broken_rule(joined.trace), "");
    ASSERT_EQ(joined.maps.size(), 3U);
  }
}

TEST(Join, MapsTellWhereIdsWent) {
  std::vector<Trace> parts;
  parts.push_back(part({1}));
  parts.push_back(part({2, 1}));
  const StringId two = parts[1].strings.find("n2");
  const std::vector<RowStretch> order = {stretch(0, 0), stretch(1, 0)};
  const Joined joined = join(std::move(parts), order, 1);
  EXPECT_EQ(joined.trace.strings[joined.maps[1].strings[index(two)]], "n2");
  EXPECT_EQ(joined.trace.tracks.size(), 2U);
  EXPECT_EQ(joined.maps[1].tracks[1], TrackId{0});  // tid 1 already exists
  EXPECT_EQ(joined.trace.notes.events, 3U);
}

}  // namespace
}  // namespace stepscope

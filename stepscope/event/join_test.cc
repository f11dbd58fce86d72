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

Trace window(std::int64_t start, std::string_view name) {
  Trace t;
  const StringId id = t.strings.intern(name);
  t.tracks.push_back({.pid = 1, .tid = 2, .thread_name = t.strings.intern("main")});
  const auto add = [&](Category category, std::uint32_t detail) {
    return append(
        t, {.start = Ns{start}, .dur = Ns{5}, .name = id, .category = category, .detail = detail});
  };
  t.ops.input_dims.push_back(t.strings.intern("[[8]]"));
  t.ops.input_types.push_back(empty_string);
  t.ops.concrete_inputs.push_back(empty_string);
  t.ops.sequence.push_back(static_cast<std::int32_t>(start));
  t.ops.forward_thread.push_back(0);
  t.copies.bytes.push_back(Bytes{start});
  t.syncs.stream.push_back(static_cast<std::int32_t>(start));
  t.syncs.wait_on_stream.push_back(1);
  t.syncs.wait_on_record_correlation.push_back(1);
  add(Category::cpu_op, 0);
  add(Category::memcpy, 0);
  t.collectives.push_back({.slice = add(Category::sync, 0), .name = id});
  t.notes.add("odd", 9);
  t.metadata.path.append(name);
  return t;
}

TEST(Absorb, AWindowIsAppendedWithItsDetails) {
  Trace all = window(10, "a");
  const AbsorbMap map = absorb(all, window(100, "b"));
  EXPECT_EQ(map.tracks.at(0), TrackId{0});
  seal(all);
  EXPECT_EQ(test::broken_rule(all), "");
  ASSERT_EQ(all.slices.size(), 6U);
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::int64_t start = i < 3 ? 10 : 100;
    const std::uint32_t detail = all.slices.detail[i];
    EXPECT_EQ(all.name(SliceId{i}), i < 3 ? "a" : "b");
    if (all.slices.category[i] == Category::cpu_op) {
      EXPECT_EQ(all.ops.sequence[detail], start);
      EXPECT_EQ(all.strings[all.ops.input_dims[detail]], "[[8]]");
    } else if (all.slices.category[i] == Category::memcpy) {
      EXPECT_EQ(all.copies.bytes[detail], Bytes{start});
    } else {
      EXPECT_EQ(all.syncs.stream[detail], start);
    }
  }
  ASSERT_EQ(all.collectives.size(), 2U);
  EXPECT_EQ(all.strings[all.collectives[1].name], "b");
  EXPECT_EQ(all.notes.counts.at("odd"), 2U);
  EXPECT_EQ(all.metadata.path, "a");
  EXPECT_EQ(all.strings[all.tracks.at(0).thread_name], "main");
}

TEST(Absorb, TracksThatDifferStayApart) {
  Trace all = window(10, "a");
  Trace other = window(100, "b");
  other.tracks[0].device = true;
  EXPECT_EQ(absorb(all, std::move(other)).tracks.at(0), TrackId{1});
  EXPECT_EQ(all.tracks.size(), 2U);
}

}  // namespace

}  // namespace stepscope

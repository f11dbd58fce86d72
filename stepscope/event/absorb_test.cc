// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/absorb.h"

#include <gtest/gtest.h>

#include "stepscope/event/trace_test_text.h"

namespace stepscope {
namespace {

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

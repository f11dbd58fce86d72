// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/document.h"

#include <gtest/gtest.h>

#include "stepscope/read/kineto/kineto_test_source.h"

namespace stepscope {
namespace {

struct Head {
  OuterText outer;
  Metadata metadata;
  ImportNotes notes;
};
Head head_of(std::string_view text, bool final = true) {
  Head h;
  h.outer = read_head(text, final, h.metadata, h.notes);
  return h;
}
// The metadata of a document with these members before its events.
Head with(std::string_view members) {
  return head_of(test::joined({"{", members, R"(, "traceEvents": [)"}));
}

TEST(Document, MembersBeforeTheEventsAreRead) {
  const Head h = with(
      R"("deviceProperties": [{"id": 1, "name": "NVIDIA H100",
          "totalGlobalMem": 85029158912, "computeMajor": 9,
          "computeMinor": 0, "numSms": 132}, 7], "record_shapes": 1,
          "with_stack": 0, "with_flops": true,
          "host_name": "h\u00e9", "cupti_version": 26, "roctracer_version": 4.1, "INFO": ["x"],
          "baseTimeNanoseconds": 1711964646000000000)");
  EXPECT_EQ(h.outer.outer, Outer::events);
  const Metadata& m = h.metadata;
  ASSERT_EQ(m.devices.size(), 1U);
  EXPECT_EQ(m.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(m.devices[0].total_memory, Bytes{85029158912});
  EXPECT_EQ(m.devices[0].multiprocessors, 132);
  EXPECT_EQ(m.with_shapes, true);
  EXPECT_EQ(m.with_stack, false);
  EXPECT_EQ(m.with_flops, true);
  EXPECT_FALSE(m.with_memory.has_value());  // absent is not off
  EXPECT_EQ(m.texts.at("host_name"), "h\xC3\xA9");
  EXPECT_EQ(m.texts.at("cupti_version"), "26");
  EXPECT_EQ(m.texts.at("roctracer_version"), "4.1");
  EXPECT_EQ(m.base.count(), 1711964646000000000);
}

TEST(Document, DistributedInfoInAllItsSpellings) {
  const Head h = with(
      R"("distributedInfo": {"backend": "cpu:gloo,cuda:nccl", "rank": 3,
          "world_size": 8, "pg_count": 4, "pg_config": [
          {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
          "pg_size": 8, "ranks": [0, 1]},
          {"pg_name": 1, "uid": "old", "ranks": "[2, 3]"}, {"pg_name": "2",
          "ranks": "[0, 1, ..."}, "odd"],
          "nccl_version": "2.22.3"})");
  const Metadata& m = h.metadata;
  EXPECT_EQ(m.rank, 3);
  EXPECT_EQ(m.world_size, 8);
  EXPECT_EQ(m.backend, "cpu:gloo,cuda:nccl");
  EXPECT_EQ(m.texts.at("nccl_version"), "2.22.3");
  ASSERT_EQ(m.groups.size(), 3U);
  EXPECT_EQ(m.groups[0].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(m.groups[0].size, 8);
  EXPECT_EQ(m.groups[1].name, "1");
  EXPECT_EQ(m.groups[1].description, "old");
  EXPECT_EQ(m.groups[1].ranks, (std::vector<int>{2, 3}));
  EXPECT_TRUE(m.groups[2].ranks.empty());
  EXPECT_EQ(with(R"("distributedInfo": {"rank": 0})").metadata.rank, 0);
  EXPECT_FALSE(with(R"("distributedInfo": {"rank": -1, "world_size": 99999999999})")
                   .metadata.rank.has_value());
  EXPECT_FALSE(with(R"("distributedInfo": [])").metadata.rank.has_value());
}

TEST(Document, WhatThePluginOfNcclSays) {
  const Head h = with(
      R"("nccl_events_dropped": 7, "distributedInfo": {"pg_config": [
          {"pg_name": "0x1f", "pg_size": 4, "pg_rank": 2, "ranks": []}]})");
  EXPECT_EQ(h.notes.counts.at("nccl_events_dropped"), 7U);
  EXPECT_EQ(h.metadata.texts.at("group_places"), R"({"0x1f":2})");
  const Head none = with(R"("nccl_events_dropped": 0, "distributedInfo": {"pg_config": []})");
  EXPECT_TRUE(none.notes.counts.empty());
  EXPECT_FALSE(none.metadata.texts.contains("group_places"));
}

TEST(Document, BareInfControlCharactersAndBadUtf8CostOnlyThemselves) {
  const Head h = with(test::joined({R"("deviceProperties": [{"name": "info nan )", "\x01\xFF",
                                    R"(", "clock": inf, "numSms": 4}], "a": -nan, "b": "ok")"}));
  EXPECT_EQ(h.metadata.devices.at(0).name, "info nan ??");
  EXPECT_EQ(h.metadata.devices[0].multiprocessors, 4);
  EXPECT_EQ(h.metadata.texts.at("b"), "ok");
  EXPECT_TRUE(h.notes.counts.empty());
}

TEST(Document, ADamagedMemberIsCountedAndTheNextRead) {
  for (const std::string_view damage :
       {R"("cmd": "say "hi" there")", R"("cmd" 3)", R"("path": "C:\")", R"("x": {"a" 1})",
        R"("x": tru)", "{", R"("a": "b" "c")"}) {
    const Head h =
        with(test::joined({damage, R"(, "between": 1, "distributedInfo": {"rank": 3})"}));
    EXPECT_EQ(h.outer.outer, Outer::events) << damage;
    EXPECT_EQ(h.metadata.rank, 3) << damage;
    EXPECT_EQ(h.notes.counts.at("unreadable_metadata"), 1U) << damage;
  }
}

TEST(Document, MembersNestedWithoutReasonAreNotParsed) {
  const Head h = with(
      test::joined({R"("deep": )", std::string(5000, '['), std::string(5000, ']'), R"(, "b": 1)"}));
  EXPECT_EQ(h.notes.counts.at("unreadable_metadata"), 1U);
  EXPECT_EQ(h.metadata.texts.at("b"), "1");
}

TEST(Document, ABaseTimeIsAWholeNumberOfThisCentury) {
  EXPECT_EQ(with(R"("baseTimeNanoseconds": "1711964646000000000")").metadata.base.count(),
            1711964646000000000);
  for (const std::string_view bad : {"-1", "4000000000000000001", "18446744073709551615"}) {
    const Head h = with(test::joined({R"("baseTimeNanoseconds": )", bad}));
    EXPECT_EQ(h.notes.counts.count("base_time_out_of_range"), 1U) << bad;
    EXPECT_EQ(h.metadata.base.count(), 0);
  }
  for (const std::string_view bad : {"1.5e18", "\"12 ns\"", "null", "[1]"})
    EXPECT_EQ(with(test::joined({R"("baseTimeNanoseconds": )", bad}))
                  .notes.counts.count("unreadable_base_time"),
              1U)
        << bad;
}

TEST(Document, TheHeadSaysWhatItMet) {
  const auto outer = [](std::string_view text, bool final) {
    return head_of(text, final).outer.outer;
  };
  EXPECT_EQ(outer("\xEF\xBB\xBF [", false), Outer::events);
  EXPECT_EQ(outer("{}", false), Outer::ended);
  EXPECT_EQ(outer("", false), Outer::need_more);
  EXPECT_EQ(outer(R"({"a)", false), Outer::need_more);
  EXPECT_EQ(outer(R"({"a": {"b": [1, )", true), Outer::need_more);
  EXPECT_EQ(outer("text", false), Outer::not_json);
  EXPECT_EQ(outer("{text", true), Outer::not_json);
  EXPECT_EQ(outer("{text", false), Outer::need_more);  // the next member may be near
  EXPECT_TRUE(is_bare_array(" ["));
  EXPECT_FALSE(is_bare_array("{\"a\": []}"));
  EXPECT_TRUE(is_memory_timeline("[[-1, 1, 37888, 7], [17, 2"));
  EXPECT_FALSE(is_memory_timeline("[[-1, 1, 37888"));
  EXPECT_FALSE(is_memory_timeline("[[1, 2, 3], [4, 5, 6]]"));
  EXPECT_FALSE(is_memory_timeline("[1, 2, 3, 4]"));
  EXPECT_FALSE(is_memory_timeline("[{\"a\": [1, 2, 3, 4]}]"));
}

TEST(Document, TheTailEndsWithItsBraceOrWasCut) {
  Metadata metadata;
  ImportNotes notes;
  OuterText outer =
      read_tail({R"(, "traceName": "x", "traceEvents": [)", 100, false}, metadata, notes);
  EXPECT_EQ(outer.outer, Outer::events);
  EXPECT_EQ(metadata.texts.at("traceName"), "x");
  outer = read_tail({R"(, "a": 1} more)", 100, true}, metadata, notes);
  EXPECT_EQ(outer.outer, Outer::ended);
  EXPECT_EQ(outer.at, 9U);
  EXPECT_FALSE(notes.truncated);
  read_tail({R"(, "a": 1)", 100, false}, metadata, notes);
  EXPECT_FALSE(notes.truncated);
  read_tail({R"(, "a": 1)", 100, true}, metadata, notes);
  EXPECT_TRUE(notes.truncated);
  read_tail({R"(, "baseTimeNanoseconds": -1})", 100, true}, metadata, notes);
  EXPECT_EQ(notes.first_byte.at("base_time_out_of_range"), 125U);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/flight_recorder.h"

#include <gtest/gtest.h>

#include "stepscope/read/bytes/plain_json.h"

namespace stepscope {
namespace {

PlainTree tree_of(const std::string& text) {
  auto tree = parse_plain_json(text, "dump");
  EXPECT_TRUE(tree) << (tree ? "" : tree.error().message());
  return tree ? *std::move(tree) : PlainTree{};
}

std::string entry(const std::string& name, int sequence, const std::string& more = "") {
  return R"({"process_group":["0","default_pg"],"pg_id":4,"profiling_name":"nccl:)" + name +
         R"(","collective_seq_id":)" + std::to_string(sequence) + R"(,"p2p_seq_id":)" +
         std::to_string(sequence) + more + "}";
}

TEST(FlightRecorder, ReadsGroupsCallsAndStatus) {
  const PlainTree dump = tree_of(
      R"({"version":"2.5","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2]"}},
          "pg_status":{"4":{"last_enqueued_collective":"3","last_started_collective":-1,
                            "last_completed_collective":2}},
          "entries":[)" +
      entry("all_reduce", 1,
            R"(,"input_sizes":[[3,4],[2]],"input_dtypes":["Float","Half"],"state":"completed",
               "frames":[{"name":"f","filename":"a.py","line":7}],
               "time_created_ns":1724779239936775119)") +
      ',' + entry("_allgather_base", 2, R"(,"state":"started","output_sizes":[[8]])") + ',' +
      entry("coalesced", 2, R"(,"state":"scheduled")") + ',' +
      entry("send 1->2", 9, R"(,"is_p2p":true,"state":"scheduled","retired":true)") + "]}");
  CommRecords records;
  CommInput input;
  ASSERT_TRUE(add_flight_dump(dump, 1, input, records));
  ASSERT_EQ(records.groups.size(), 1U);
  EXPECT_EQ(records.groups[0].members, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(world_size_of(dump), 3);
  ASSERT_EQ(records.sequences.size(), 1U);
  const CommSequence& s = records.sequences[0];
  ASSERT_EQ(s.collectives.size(), 3U);
  EXPECT_EQ(records.strings[s.collectives[0].in_sizes], "[[3, 4], [2]]");
  EXPECT_EQ(s.collectives[0].in_elements, 14);
  EXPECT_EQ(records.strings[s.collectives[0].in_types], "Float, Half");
  EXPECT_EQ(s.collectives[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ(s.collectives[0].created, Ns(1724779239936775119));
  EXPECT_EQ(records.stacks.at(s.collectives[0].stack).at(0).line, 7);
  EXPECT_EQ(s.collectives[1].kind, CollectiveKind::all_gather);
  EXPECT_EQ(s.collectives[1].state, CallState::started);
  EXPECT_EQ(s.collectives[2].ordinal, 1U);
  ASSERT_EQ(s.pairs.size(), 1U);
  EXPECT_EQ(s.pairs[0].peer, 2);
  EXPECT_EQ(s.pairs[0].kind, CollectiveKind::send);
  EXPECT_EQ(s.pairs[0].state, CallState::ended);
  EXPECT_TRUE(s.from_start);
  ASSERT_TRUE(s.status);
  EXPECT_EQ(s.status->enqueued, 3);
  EXPECT_EQ(s.status->completed, 2);
  EXPECT_EQ(input.calls, 4U);
  EXPECT_EQ(input.rank, 1);
}

TEST(FlightRecorder, SettlesGroupsWhoseMembersOneRankDoesNotKnow) {
  CommRecords records;
  CommInput input;
  ASSERT_TRUE(add_flight_dump(
      tree_of(R"({"version":"2.5","pg_config":{"0":{"desc":"w","ranks":"[0, 1]"}},"entries":[)" +
              entry("barrier", 1) + "]}"),
      0, input, records));
  ASSERT_TRUE(add_flight_dump(
      tree_of(R"({"version":"2.5","pg_config":{},"entries":[)" + entry("barrier", 1) + "]}"), 1,
      input, records));
  settle_groups(records);
  std::size_t ranks = 0;
  for (const CommSequence& s : records.sequences)
    if (records.groups[s.group].members_recorded && !s.collectives.empty()) ++ranks;
  EXPECT_EQ(ranks, 2U);
}

TEST(FlightRecorder, CountsWhatIsNoCall) {
  CommRecords records;
  CommInput input;
  ASSERT_TRUE(add_flight_dump(
      tree_of(R"({"version":"2.10","entries":[{"state":"started"},7,{"process_group":[],
                  "collective_seq_id":5,"input_sizes":[[-1],[9223372036854775807,8]]}]})"),
      0, input, records));
  EXPECT_EQ(input.notes.at("entries_without_a_sequence_number"), 2U);
  EXPECT_EQ(input.calls, 1U);
  settle_groups(records);
  EXPECT_FALSE(records.sequences.back().from_start);
}

TEST(FlightRecorder, RefusesOtherData) {
  CommRecords records;
  CommInput input;
  const auto why = [&](const std::string& text) {
    const auto added = add_flight_dump(tree_of(text), 0, input, records);
    return added ? std::string() : added.error().message();
  };
  EXPECT_NE(why("{}").find("is plain data, and no dump"), std::string::npos);
  EXPECT_NE(why("[1]").find("is plain data, and no dump"), std::string::npos);
  EXPECT_NE(why(R"({"segments":[],"device_traces":[]})").find("is a memory snapshot"),
            std::string::npos);
  EXPECT_NE(why(R"({"version":"3.1","entries":[]})").find("version 3.1"), std::string::npos);
  EXPECT_EQ(why(R"({"version":"2.1","entries":[]})"), "");
}

TEST(FlightRecorder, ReadsRanksFromText) {
  EXPECT_EQ(ranks_in_text("[0, 1, 12]"), (std::vector<int>{0, 1, 12}));
  EXPECT_EQ(ranks_in_text("[]"), std::vector<int>{});
  EXPECT_EQ(ranks_in_text("[99999999999999, -3, 4]"), (std::vector<int>{4}));
}

}  // namespace
}  // namespace stepscope

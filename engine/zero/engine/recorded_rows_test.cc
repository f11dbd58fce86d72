// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/recorded_rows.h"

#include <gtest/gtest.h>

namespace stepscope::zero {
namespace {

// Four steps of 100 ns with a row of each kind.
RecordedRows four_steps() {
  RecordedRows rows;
  for (int s = 0; s < 4; ++s) {
    const Ns begin{100 * s};
    rows.operations.push_back({{.op = nn::LeafOp::gelu}, begin + Ns{10}, begin + Ns{20}});
    rows.units.push_back({ShortName<24>("block 3"), Activity::forward, begin, begin + Ns{50}});
    RecordedMessage message{.what = ShortName<40>("block 3 gradients"), .in_elements = s};
    message.record.submitted = begin + Ns{30};
    message.record.last_arrival = begin + Ns{35};
    rows.messages.push_back(message);
    rows.moves.push_back({.direction = TransferDirection::device_to_nvme,
                          .begin = begin + Ns{60},
                          .end = begin + Ns{70}});
    rows.activities.push_back({Activity::data, Activity::data, begin, begin + Ns{5}});
    StepRecord step;
    step.index = s;
    step.begin = begin;
    step.end = begin + Ns{100};
    rows.steps.push_back(step);
  }
  rows.left_out = 7;
  return rows;
}

TEST(RecordedRows, AreTheSameAfterTheirWayToAnotherRank) {
  const RecordedRows rows = four_steps();
  const auto back = decode_rows(encode(rows));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->left_out, 7U);
  ASSERT_EQ(back->operations.size(), 4U);
  EXPECT_EQ(back->operations[2].begin, Ns{210});
  EXPECT_EQ(back->units[1].name.text(), "block 3");
  EXPECT_EQ(back->messages[3].what.text(), "block 3 gradients");
  EXPECT_EQ(back->messages[3].record.last_arrival, Ns{335});
  EXPECT_EQ(back->messages[3].in_elements, 3);
  EXPECT_EQ(back->moves[0].end, Ns{70});
  EXPECT_EQ(back->activities, rows.activities);
  EXPECT_EQ(back->steps, rows.steps);
}

TEST(RecordedRows, BytesThatAreCutOrTooManyAreRefused) {
  std::vector<std::byte> bytes = encode(four_steps());
  for (const std::size_t size : {std::size_t{0}, std::size_t{11}, bytes.size() - 1})
    EXPECT_FALSE(decode_rows(std::span(bytes).first(size))) << size;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_rows(bytes));
}

TEST(RecordedRows, KeepTheLastSteps) {
  RecordedRows rows = four_steps();
  rows.keep_last(4);
  EXPECT_EQ(rows.steps.size(), 4U);
  rows.keep_last(2);
  ASSERT_EQ(rows.steps.size(), 2U);
  EXPECT_EQ(rows.steps.front().index, 2);
  EXPECT_EQ(rows.operations.front().begin, Ns{210});
  EXPECT_EQ(rows.operations.size(), 2U);
  EXPECT_EQ(rows.units.size(), 2U);
  EXPECT_EQ(rows.messages.size(), 2U);
  EXPECT_EQ(rows.moves.size(), 2U);
  EXPECT_EQ(rows.activities.size(), 2U);
}

TEST(RecordedRows, ALongNameIsCut) {
  EXPECT_EQ(ShortName<4>("abcdef").text(), "abcd");
  EXPECT_EQ(ShortName<4>("").text(), "");
}

}  // namespace
}  // namespace stepscope::zero

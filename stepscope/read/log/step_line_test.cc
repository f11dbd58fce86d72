// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_line.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

const std::string line =
    R"({"stepscope":"step","rank":1,"world":4,"host":"n","pid":7,"run":5,"step":12,"end_us":9,)"
    R"("wall_ns":100,"wait_ns":30,"lost":2,"phases_ns":{"forward":40,"data":30}})";

TEST(StepLine, IsRead) {
  const auto read = parse_step_line(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rank, 1);
  EXPECT_EQ(read->world, 4);
  EXPECT_EQ(read->peers, 0);
  EXPECT_EQ(read->peer_count, 4);
  EXPECT_EQ(read->host, "n");
  EXPECT_EQ(read->pid, 7);
  EXPECT_EQ(read->run, 5);
  EXPECT_EQ(read->step, 12);
  EXPECT_EQ(read->wall_ns, 100);
  EXPECT_EQ(read->wait_ns, 30);
  EXPECT_EQ(read->lost, 2U);
  ASSERT_EQ(read->phases_ns.size(), 2U);
  EXPECT_EQ(read->phases_ns[1].first, "data");
}

TEST(StepLine, BlanksAndTheOrderOfKeysAreTheWriters) {
  for (
      const std::string other :
      {R"({"stepscope": "step", "rank": 1, "world": 4, "step": 12, "wall_ns": 100, "wait_ns": 30})",
       R"({"rank":1,"step":12,"stepscope" :"step","wait_ns":30,"wall_ns":100,"world":4})"}) {
    ASSERT_TRUE(is_step_line(other)) << other;
    const auto read = parse_step_line(other);
    ASSERT_TRUE(read) << other;
    EXPECT_EQ(read->step, 12) << other;
  }
  for (const std::string no : {R"({"stepscope":"trace","step":1})", R"({"stepscope")", "{}", "",
                               R"(["stepscope":"step"])", R"({"by":"stepscope","step":1})"})
    EXPECT_FALSE(is_step_line(no)) << no;
}

TEST(StepLine, PeersAreAPartOfTheRanks) {
  const auto read =
      parse_step_line(R"({"stepscope":"step","rank":5,"world":8,"peers":1,"peer_count":2,"step":0,)"
                      R"("wall_ns":1,"wait_ns":0})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->peers, 1);
  EXPECT_EQ(read->peer_count, 2);
}

TEST(StepLine, WithoutWhatCannotBeLeftOutIsNone) {
  EXPECT_FALSE(parse_step_line(line.substr(0, line.size() / 2)));
  EXPECT_FALSE(parse_step_line("{}"));
  for (const std::string bad : {R"("rank":4,"world":4,"step":1,"wall_ns":1,"wait_ns":0)",
                                R"("rank":0,"world":4,"step":-1,"wall_ns":1,"wait_ns":0)",
                                R"("rank":0,"world":4,"step":1,"wall_ns":0,"wait_ns":0)",
                                R"("rank":0,"world":4,"step":1,"wall_ns":5)",
                                R"("rank":0,"step":1,"wall_ns":5,"wait_ns":0)"})
    EXPECT_FALSE(parse_step_line(R"({"stepscope":"step",)" + bad + "}")) << bad;
}

TEST(StepLine, NobodyWaitsLongerThanAStep) {
  const auto read = parse_step_line(
      R"({"stepscope":"step","rank":0,"world":1,"step":1,"wall_ns":5,"wait_ns":9})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->wait_ns, 5);
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Messages and leftovers of the ranks when one of them fails.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/comm/launch.h"

namespace stepscope {
namespace {

using comm_test::gone_within;
using comm_test::Launch;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* third = "all_reduce #2 of 4000 bytes of f32 sum \"third\" (comm/rank.cc:";
constexpr const char* second = "its last was all_reduce #1 of 4000 bytes of f32 sum \"second\"";

TEST(Faults, a_killed_rank_is_named_by_the_others) {
  Launch launch(3, "die");
  EXPECT_EQ(launch.finish(), 1);
  for (const int r : {0, 2}) {
    const std::string error = launch.line("rank " + std::to_string(r) + ": error ");
    EXPECT_TRUE(has(error, "world: rank " + std::to_string(r) + " in " + third)) << error;
    EXPECT_TRUE(has(error, "rank 1 died (process ")) << error;
    EXPECT_TRUE(has(error, second)) << error;
  }
  EXPECT_EQ(launch.line("rank 1: ended "), std::to_string(128 + SIGKILL));
  EXPECT_EQ(launch.line("rank 0: ended "), "7") << launch.printed();
  EXPECT_EQ(launch.line("first "), "1");
  EXPECT_TRUE(gone_within(launch.rank_pids(), 0.5));
}

TEST(Faults, a_rank_killed_inside_a_collective_is_named) {
  Launch launch(2, "inside", 64 << 10);
  EXPECT_EQ(launch.finish(), 1);
  const std::string error = launch.line("rank 0: error ");
  EXPECT_TRUE(has(error, "rank 0 in all_reduce #2 of 4194304 bytes of f32 sum \"large\"")) << error;
  EXPECT_TRUE(has(error, "rank 1 died")) << error;
}

TEST(Faults, a_stopped_rank_is_named_at_the_deadline_and_not_left_behind) {
  Launch launch(2, "stop", 1 << 20, 300);
  EXPECT_EQ(launch.finish(), 1);
  const std::string error = launch.line("rank 0: error ");
  EXPECT_TRUE(has(error, third)) << error;
  EXPECT_TRUE(has(error, "nothing moved for 0.4")) << error;
  EXPECT_TRUE(has(error, "is stopped by a signal")) << error;
  EXPECT_EQ(launch.line("rank 1: ended "), std::to_string(128 + SIGKILL));
  EXPECT_TRUE(gone_within(launch.rank_pids(), 0.5));
}

TEST(Faults, different_collectives_are_named_with_both_call_sites) {
  Launch launch(2, "mismatch");
  EXPECT_EQ(launch.finish(), 1);
  const std::string ours = launch.line("rank 0: error ");
  const std::string theirs = launch.line("rank 1: error ");
  const std::string wrong = "all_gather #2 of 4000 bytes of f32 \"wrong one\" (comm/rank.cc:";
  for (const std::string& error : {ours, theirs}) {
    EXPECT_TRUE(has(error, third)) << error;
    EXPECT_TRUE(has(error, wrong)) << error;
    EXPECT_TRUE(has(error, " instead")) << error;
  }
}

TEST(Faults, different_sizes_are_named) {
  Launch launch(2, "size");
  EXPECT_EQ(launch.finish(), 1);
  EXPECT_TRUE(has(launch.line("rank 0: error "), "4194304 bytes of f32 sum \"wrong size\""))
      << launch.printed();
}

TEST(Faults, a_rank_that_left_or_exited_is_named) {
  Launch left(2, "leave");
  EXPECT_EQ(left.finish(), 1);
  EXPECT_TRUE(has(left.line("rank 0: error "), "rank 1 left the group")) << left.printed();
  Launch exited(2, "exit");
  EXPECT_EQ(exited.finish(), 1);
  EXPECT_TRUE(has(exited.line("rank 0: error "), "rank 1 died")) << exited.printed();
  EXPECT_EQ(exited.line("rank 1: ended "), "5");
}

TEST(Faults, a_rank_that_never_joins_is_named) {
  Launch launch(3, "absent");
  EXPECT_EQ(launch.finish(), 1);
  EXPECT_TRUE(has(launch.line("error "), "rank 1 ended before all ranks had come"))
      << launch.printed();
  EXPECT_EQ(launch.line("first "), "1");
}

TEST(Faults, messages_that_nobody_sent_end_at_the_deadline) {
  Launch launch(2, "deadlock", 1 << 20, 300);
  EXPECT_EQ(launch.finish(), 1);
  const bool named = has(launch.line("rank 0: error "), "recv #0 of 4000 bytes of f32") ||
                     has(launch.line("rank 1: error "), "recv #0 of 4000 bytes of f32");
  EXPECT_TRUE(named) << launch.printed();
  EXPECT_TRUE(has(launch.printed(), "nothing moved for 0.4")) << launch.printed();
}

TEST(Faults, the_flight_record_has_the_state_of_the_last_collectives) {
  Launch launch(2, "die");
  launch.finish();
  const auto record = nlohmann::json::parse(launch.line("rank 0: record "), nullptr, false);
  ASSERT_TRUE(record.is_object()) << launch.printed();
  EXPECT_EQ(record["rank"], 0);
  EXPECT_EQ(record["peers"][1]["last"]["what"], "second");
  const auto& collectives = record["collectives"];
  ASSERT_EQ(collectives.size(), 3U);
  EXPECT_EQ(collectives[1]["state"], "done");
  EXPECT_EQ(collectives[2]["state"], "submitted");
  EXPECT_EQ(collectives[2]["sequence"], 2);
  EXPECT_EQ(collectives[2]["kind"], "all_reduce");
  EXPECT_EQ(collectives[2]["what"], "third");
  EXPECT_TRUE(collectives[2]["finished_ns"].is_null());
  EXPECT_TRUE(has(record["failure"], "rank 1 died"));
}

}  // namespace
}  // namespace stepscope

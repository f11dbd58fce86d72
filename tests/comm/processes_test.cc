// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include "engine/comm/groups/shm_group.h"
#include "tests/comm/launch.h"

namespace stepscope {
namespace {

using comm_test::gone_within;
using comm_test::Launch;

constexpr long small_bucket = 64 << 10;  // 16 buckets of 4 KiB

class Processes : public testing::TestWithParam<int> {};

TEST_P(Processes, every_collective_has_the_bits_of_a_plain_loop_in_rank_order) {
  Launch launch(GetParam(), "cases", small_bucket);
  EXPECT_EQ(launch.finish(), 0) << launch.printed();
  for (int r = 0; r < GetParam(); ++r) {
    EXPECT_TRUE(launch.line("rank " + std::to_string(r) + ": ").starts_with("pid"));
    EXPECT_NE(launch.printed().find("rank " + std::to_string(r) + ": 206 cases right"),
              std::string::npos)
        << launch.printed();
  }
}

TEST_P(Processes, ranks_may_wait_in_different_orders) {
  Launch launch(GetParam(), "shuffled", small_bucket);
  EXPECT_EQ(launch.finish(), 0) << launch.printed();
}

INSTANTIATE_TEST_SUITE_P(Ranks, Processes, testing::Values(1, 2, 3, 4, 5, 7));

TEST(Spawn, subgroups_of_processes_have_shared_memory_of_their_own) {
  Launch launch(5, "subgroups", small_bucket);
  EXPECT_EQ(launch.finish(), 0) << launch.printed();
  EXPECT_TRUE(gone_within(launch.rank_pids(), 0.5));
}

TEST(Spawn, a_signal_goes_on_to_the_ranks) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Launch launch(3, "sleep");
    launch.read_until("pid", 3);
    ::kill(launch.pid(), signal);
    EXPECT_EQ(launch.finish(), 1);
    EXPECT_EQ(launch.line("interrupted "), std::to_string(signal)) << launch.printed();
    EXPECT_EQ(launch.line("rank 2: ended "), std::to_string(128 + signal)) << launch.printed();
    EXPECT_TRUE(gone_within(launch.rank_pids(), 0.5));
  }
}

TEST(Spawn, ranks_die_with_the_process_that_started_them) {
  Launch launch(3, "sleep");
  launch.read_until("pid", 3);
  ASSERT_EQ(launch.rank_pids().size(), 3U);
  ::kill(launch.pid(), SIGKILL);
  EXPECT_EQ(launch.finish(), 128 + SIGKILL);
  EXPECT_TRUE(gone_within(launch.rank_pids(), 20));
}

TEST(Spawn, a_program_that_is_not_there_is_an_error) {
  Launch launch(2, "nowhere");
  EXPECT_EQ(launch.finish(), 9);
  EXPECT_EQ(launch.line("error "),
            "/no/such/program: rank 0 of 2 could not be started: cannot run it: No such file or "
            "directory");
}

TEST(Spawn, too_little_shared_memory_is_an_error) {
  Launch launch(2, "cases", 1L << 50);
  EXPECT_EQ(launch.finish(), 9);
  EXPECT_TRUE(launch.line("error ").starts_with("no room for ")) << launch.printed();
  EXPECT_NE(launch.printed().find("smaller communication buckets"), std::string::npos);
}

TEST(Spawn, a_process_that_nobody_spawned_cannot_join) {
  EXPECT_FALSE(is_spawned_rank());
  const auto joined = join_shm_group();
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().message().find("no rank of a local group"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

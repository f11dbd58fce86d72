// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/comm_lines/set_up_line.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

std::optional<SetUpLine> id_line(const std::string& key, const std::string& error) {
  return parse_set_up(
      "[rank5]: torch.distributed.DistBackendError: [5] is setting up NCCL communicator and "
      "retrieving ncclUniqueId from [0] via c10d key-value store by key '" +
      key + "', but store->get('" + key + "') got error: " + error);
}

TEST(SetUpLine, HasTheRankThatGivesNoId) {
  const auto waits = id_line("0", "wait timeout after 90000ms, keys: /default_pg/0//cuda//0");
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->kind, SetUpKind::unique_id);
  EXPECT_EQ(waits->rank, 5);
  EXPECT_EQ(waits->awaited, 0);
  EXPECT_EQ(waits->limit_ms, 90'000);
  EXPECT_FALSE(id_line("0", "Socket Timeout")->limit_ms);
  EXPECT_EQ(id_line("3:5", "Socket Timeout")->awaited, 3);  // of a send and its receive
  EXPECT_FALSE(id_line("0", "Connection reset by peer"));
}

TEST(SetUpLine, HasHowManyCameToAStoreBarrier) {
  const auto gave_up = parse_set_up(
      "RuntimeError: Timed out initializing process group in store based barrier on rank: 6, for "
      "key: store_based_barrier_key:3 (world_size=8, worker_count=5, timeout=0:10:30)");
  ASSERT_TRUE(gave_up);
  EXPECT_EQ(gave_up->kind, SetUpKind::store_barrier);
  EXPECT_EQ(gave_up->rank, 6);
  EXPECT_EQ(gave_up->place, "store_based_barrier_key:3");
  EXPECT_EQ(gave_up->came, 5);
  EXPECT_EQ(gave_up->size, 8);
  EXPECT_EQ(gave_up->limit_ms, 630'000);
  const auto waits = parse_set_up(
      "INFO: Waiting in store based barrier to initialize process group for 12.5 secondsrank: 2, "
      "key: store_based_barrier_key:1 (world_size=4, num_workers_joined=3, timeout=1 day, 0:00:00 "
      "error=x)");
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->rank, 2);
  EXPECT_EQ(waits->came, 3);
  EXPECT_FALSE(waits->limit_ms);  // it has not passed
  const auto over = parse_set_up(
      "Rank 2: Completed store-based barrier for key:store_based_barrier_key:1 with 4 nodes.");
  ASSERT_TRUE(over);
  EXPECT_TRUE(over->over);
  EXPECT_EQ(over->place, "store_based_barrier_key:1");
}

TEST(SetUpLine, HasAnAddressThatIsNotReached) {
  const auto said = parse_set_up(
      "[E108 20:00:00.1 socket.cpp:957] [c10d] The client socket has timed out after 60s while "
      "trying to connect to (10.1.2.3, 29500).");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, SetUpKind::address);
  EXPECT_EQ(said->place, "10.1.2.3:29500");
  EXPECT_EQ(said->limit_ms, 60'000);
}

TEST(SetUpLine, HasTheRankThatDoesNotAnswerAtAMonitoredBarrier) {
  const auto said = parse_set_up(
      "[E ProcessGroupGloo.cpp:138] Rank 2 successfully reached monitoredBarrier, but received "
      "errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, SetUpKind::monitored_barrier);
  EXPECT_EQ(said->rank, 2);
  EXPECT_EQ(said->awaited, 0);
}

TEST(SetUpLine, HasTheWaitsAtAStore) {
  auto said = parse_set_up(
      "DistStoreError: Timed out after 301 seconds waiting for clients. 1/3 clients "
      "joined.");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, SetUpKind::store_clients);
  EXPECT_EQ(said->came, 1);
  EXPECT_EQ(said->size, 3);
  EXPECT_EQ(said->limit_ms, 301'000);
  said = parse_set_up("DistStoreError: wait timeout after 100ms, keys: /the_key");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->kind, SetUpKind::store_key);
  EXPECT_EQ(said->place, "/the_key");
  EXPECT_EQ(said->limit_ms, 100);
  said = parse_set_up("RuntimeError: Timeout waiting for key: default_pg/0/1 after 900 ms");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->place, "default_pg/0/1");
  EXPECT_EQ(said->limit_ms, 900);
  EXPECT_FALSE(parse_set_up(" waiting for clients. 3/3 clients joined."));
}

TEST(SetUpLine, IsNoneWhereTheLineIsCutOrTalksOfIt) {
  for (const char* line :
       {"[5] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key",
        "Waiting in store based barrier to initialize process group for rank: 0, key: k (world_s",
        "The client socket has timed out after 60s while trying to connect to (10.1",
        "Rank 2 successfully reached monitoredBarrier", "in store based barrier ", ""})
    EXPECT_FALSE(parse_set_up(line)) << line;
}

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "engine/comm/groups/rank_processes.h"
#include "engine/comm/groups/shm_group.h"
#include "stepscope/base/stop.h"

namespace stepscope {
namespace {

TEST(SpawnRanks, EndWhenTheirCallerAsksThemToStop) {
  StopFlag stop;
  stop.request();
  const std::vector<std::string> program = {"sleep", "60"};
  const auto report = spawn_ranks(program, 2, {.stop = &stop});
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->interrupted_by, SIGTERM);
  for (const RankExit& rank : report->ranks) EXPECT_EQ(rank.signal, SIGTERM);
}

TEST(SpawnRanks, NoneIsARestartWhereNobodyHasStartedThem) { EXPECT_EQ(rank_restarts(), 0); }

}  // namespace
}  // namespace stepscope

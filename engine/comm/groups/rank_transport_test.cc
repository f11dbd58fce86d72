// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/rank_transport.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

TEST(RankTransport, IsOfTheLauncherOrAsAsked) {
  const auto chosen = [](std::string_view asked, int ranks, std::optional<LaunchedRank> launched) {
    const auto transport = rank_transport(asked, ranks, launched);
    return transport ? std::string(transport_name(*transport)) : transport.error().message();
  };
  const LaunchedRank one{.rank = 0, .ranks = 1};
  const LaunchedRank two{.rank = 1, .ranks = 2};
  EXPECT_EQ(chosen("", 0, std::nullopt), "shm");
  EXPECT_EQ(chosen("threads", 3, std::nullopt), "threads");
  EXPECT_EQ(chosen("", 0, two), "mpi");
  EXPECT_EQ(chosen("", 2, two), "mpi");
  EXPECT_EQ(chosen("mpi-messages", 0, two), "mpi-messages");
  EXPECT_EQ(chosen("shm", 4, one), "shm");
  EXPECT_EQ(chosen("mpi", 0, LaunchedRank{}), "mpi");
  EXPECT_NE(chosen("", 4, two).find("--ranks 4: the launcher has started 2"), std::string::npos);
  EXPECT_NE(chosen("shm", 0, two).find("a job of its own"), std::string::npos);
  EXPECT_NE(chosen("mpi", 0, std::nullopt).find("mpirun -n RANKS"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

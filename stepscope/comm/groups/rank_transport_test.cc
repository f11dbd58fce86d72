// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/rank_transport.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace stepscope {
namespace {

// The environment that launchers set, ours for as long as this lives.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& set) {
    for (const char* name : names) {
      const char* old = std::getenv(name);
      if (old != nullptr) before_[name] = old;
      unsetenv(name);
    }
    for (const auto& [name, value] : set) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const char* name : names) {
      unsetenv(name);
      if (before_.contains(name)) setenv(name, before_[name].c_str(), 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static constexpr const char* names[] = {"OMPI_COMM_WORLD_RANK",
                                          "OMPI_COMM_WORLD_SIZE",
                                          "PMI_RANK",
                                          "PMI_SIZE",
                                          "PMIX_RANK",
                                          "SLURM_PROCID",
                                          "SLURM_STEP_ID",
                                          "SLURM_STEP_NUM_TASKS"};
  std::map<std::string, std::string> before_;
};

std::vector<int> launched(const std::map<std::string, std::string>& set) {
  const Environment environment(set);
  const auto found = launched_rank();
  return found ? std::vector<int>{found->rank, found->ranks} : std::vector<int>{};
}

TEST(LaunchedRank, IsWhatTheLaunchersSay) {
  using Is = std::vector<int>;
  EXPECT_EQ(launched({}), Is{});
  EXPECT_EQ(launched({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), (Is{1, 4}));
  EXPECT_EQ(launched({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}), (Is{2, 3}));
  EXPECT_EQ(launched({{"PMIX_RANK", "5"}}), (Is{5, 0}));
  EXPECT_EQ(launched({{"OMPI_COMM_WORLD_RANK", "x"}}), Is{});
  const std::map<std::string, std::string> batch = {{"SLURM_PROCID", "0"}};
  EXPECT_EQ(launched(batch), Is{});  // the batch script itself
  std::map<std::string, std::string> step = batch;
  step["SLURM_STEP_ID"] = "0";
  step["SLURM_STEP_NUM_TASKS"] = "8";
  EXPECT_EQ(launched(step), (Is{0, 8}));
  // mpirun within a step of srun
  step["OMPI_COMM_WORLD_RANK"] = "1";
  step["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_EQ(launched(step), (Is{1, 2}));
}

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

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/launched_rank.h"

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

}  // namespace
}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/benchmark_launch.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(BenchmarkLaunch, TellsRanksAndHosts) {
  struct Case {
    const char* line;
    int ranks;
    int hosts;
  };
  for (const Case& c : {
           Case{"mpirun.mpich -np 16 -env A=B ./build/all_gather_perf -b 64 -g 1 -n 250", 16, 0},
           Case{"$ mpirun -np 4 -N 2 all_reduce_perf -g 2 -t 2", 16, 2},
           Case{"mpirun -N 2 -np 2 -map-by ppr:1:node /opt/osu_allreduce", 2, 2},
           Case{"+ srun --nodes=4 --ntasks=32 ./all_reduce_perf -b 8", 32, 4},
           Case{"srun -n 8 --ntasks-per-node 4 osu_alltoall", 8, 2},
       }) {
    const auto launch = benchmark_launch(c.line);
    ASSERT_TRUE(launch) << c.line;
    EXPECT_EQ(launch->ranks, c.ranks) << c.line;
    EXPECT_EQ(launch->hosts, c.hosts) << c.line;
  }
}

TEST(BenchmarkLaunch, OtherLinesAreNoCommand) {
  for (const char* line :
       {"", "mpirun -np 8 python train.py", "mpirun -np $N ./all_reduce_perf -g 1",
        "./all_reduce_perf -b 8 -g 8", "mpirun ./all_reduce_perf", "-np 8 osu_allreduce"})
    EXPECT_FALSE(benchmark_launch(line)) << line;
}

}  // namespace
}  // namespace stepscope

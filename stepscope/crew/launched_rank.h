// SPDX-License-Identifier: Apache-2.0
// What this process knows from the launcher of many processes.
#pragma once

#include <optional>

namespace stepscope {

// This process's rank as its launcher states it in the environment. Known launchers: Open MPI's
// mpirun, the PMI of MPICH and others, a step of srun (not a batch script), PMIx.
struct LaunchedRank {
  int rank = 0;
  int ranks = 0;  // 0: not stated
};
[[nodiscard]] std::optional<LaunchedRank> launched_rank();

}  // namespace stepscope

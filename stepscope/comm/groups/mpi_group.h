// SPDX-License-Identifier: Apache-2.0
// Ranks that mpirun, mpiexec or srun has started. A group whose ranks are all on one host talks
// through shared memory, as shm_group.h; one that spans hosts through MPI, which carries the same
// buckets as messages, so that every sum has the same bits.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/comm/groups/mpi_options.h"

namespace stepscope {

// Whether this build has MPI; CMake says why not.
[[nodiscard]] bool has_mpi();

// What the launcher that started this process says of it in the environment: Open MPI's mpirun, the
// PMI of MPICH and others, a step of srun (no batch script), PMIx.
struct LaunchedRank {
  int rank = 0;
  int ranks = 0;  // 0: it does not say
};
[[nodiscard]] std::optional<LaunchedRank> launched_rank();

// The world of an MPI job; initialises MPI where the program has not (and finalises it at exit
// then). Called by all ranks, from the thread that uses it. Error: no MPI in this build, or no
// memory.
[[nodiscard]] Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& options = {});

// How many ranks of the world are on this host; 0 before make_mpi_group().
[[nodiscard]] int mpi_ranks_of_host();
// After a failure that other ranks may not share: the end of this process no longer waits for them,
// and the launcher ends the job.
void abandon_mpi() noexcept;

}  // namespace stepscope

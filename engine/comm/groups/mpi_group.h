// SPDX-License-Identifier: Apache-2.0
// Ranks that mpirun, mpiexec or srun has started. A group whose ranks are all on one host uses
// shared memory, as in shm_group.h. A group that spans hosts uses MPI. MPI carries the same buckets
// as messages, so every sum has the same bits.
#pragma once

#include <memory>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/groups/mpi_options.h"
#include "stepscope/base/quantity.h"
#include "stepscope/crew/launched_rank.h"

namespace stepscope {

// Makes the group of all ranks of an MPI job. Initialises MPI if the program has not, and then
// finalises it at exit. All ranks call it, from the thread that will use the group. Error: this
// build has no MPI, or loads it (crew/mpi_library.h) and finds none; or no memory.
[[nodiscard]] Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& options = {});

// The number of the job's ranks on this host; 0 before make_mpi_group().
[[nodiscard]] int mpi_ranks_of_host();
// Call this after a failure that other ranks may not share. This process then exits without waiting
// for them, and the launcher ends the job.
void abandon_mpi() noexcept;

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Ranks that mpirun, mpiexec or srun has started. A group whose ranks are all on one host talks
// through shared memory, as shm_group.h; one that spans hosts through MPI, which carries the same
// buckets as messages, so that every sum has the same bits.
#pragma once

#include <memory>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/comm/communicator.h"
#include "stepscope/comm/thread_group.h"

namespace stepscope {

// Whether this build has MPI; CMake says why not.
[[nodiscard]] bool has_mpi();
// Whether an MPI launcher has started this process (by the environment that launchers set).
[[nodiscard]] bool is_mpi_rank();

struct MpiOptions {
  Bytes bucket = default_bucket;
  bool shared_memory = true;  // false: MPI on one host too
};

// The world of an MPI job; initialises MPI where the program has not (and finalises it at exit
// then). Called by all ranks, from the thread that uses it. Error: no MPI in this build, or no
// memory.
[[nodiscard]] Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& options = {});

}  // namespace stepscope

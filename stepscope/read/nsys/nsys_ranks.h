// SPDX-License-Identifier: Apache-2.0
// Finds the rank of each process of an export and the number of ranks in the job.
#pragma once

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// Sets Metadata::rank from the first source that has it: MPI; NCCL's widest communicator; the
// environment of the profiled command (RANK, SLURM_PROCID, …) if one process of the export has GPU
// work. Several processes without a rank are numbered by device and process id, starting at the
// node's first rank if the launcher gives the node. Sorts the processes by rank. Communicators
// become process groups, with their ranks if the export has all of them.
void find_nsys_ranks(NsysExport& nsys, NsysProcesses& processes);

}  // namespace stepscope

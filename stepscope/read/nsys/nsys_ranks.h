// SPDX-License-Identifier: Apache-2.0
// Which rank each process of an export is, and how many there are in the job.
#pragma once

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// Sets Metadata::rank where something says it: MPI, NCCL's widest communicator, the environment of
// the profiled command (RANK, SLURM_PROCID, …) where one process of the export has GPU work.
// Several processes without a rank are numbered by device and process id, from the node's first
// rank on where the launcher says which node it is. Sorts the processes by rank. Communicators
// become process groups, with their ranks where the export has all of them.
void find_nsys_ranks(NsysExport& nsys, NsysProcesses& processes);

}  // namespace stepscope

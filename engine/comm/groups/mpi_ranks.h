// SPDX-License-Identifier: Apache-2.0
// The code that calls MPI for ranks, as mpi_group.cc calls it. It lies where crew/mpi_job.h lies.
#pragma once

#include <memory>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/groups/mpi_options.h"
#include "stepscope/base/result.h"

namespace stepscope::comm {

struct MpiRanks {
  Result<std::unique_ptr<Communicator>> (*make_group)(const MpiOptions& options);
  int (*of_host)();  // 0 before make_group()
};

}  // namespace stepscope::comm

// Lives as long as the process.
extern "C" const stepscope::comm::MpiRanks* stepscope_mpi_ranks();

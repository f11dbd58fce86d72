// SPDX-License-Identifier: Apache-2.0
// The code that calls MPI, as mpi_group.cc calls it. It is part of the program where the build has
// found an MPI. A program for machines whose MPI is not known has it in shared libraries, one for
// each binary interface of MPI. They are loaded when ranks ask for MPI.
#pragma once

#include <memory>

#include "stepscope/base/result.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/comm/groups/mpi_options.h"

namespace stepscope::comm {

// The functions of mpi_group.h of the same names.
struct MpiLibrary {
  Result<std::unique_ptr<Communicator>> (*make_group)(const MpiOptions& options);
  int (*ranks_of_host)();
  int (*first_of_host)();
  void (*abandon)();
};

}  // namespace stepscope::comm

// Lives as long as the process.
extern "C" const stepscope::comm::MpiLibrary* stepscope_mpi_library();

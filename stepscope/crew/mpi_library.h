// SPDX-License-Identifier: Apache-2.0
// Where the code that calls MPI is: in the program, in a shared library that is loaded when
// processes ask for MPI, or nowhere.
#pragma once

#include "stepscope/base/result.h"
#include "stepscope/crew/mpi_job.h"

namespace stepscope {

// Error: this build has no MPI, or loads it and finds none.
[[nodiscard]] Result<const MpiJob*> mpi_job();

// A function of the code that calls MPI, in the shared library of the MPI that this machine has.
// Only for a build that loads MPI. Error: the machine has no MPI.
[[nodiscard]] Result<void*> loaded_mpi_function(const char* name);

[[nodiscard]] Error no_mpi_in_this_build();

}  // namespace stepscope

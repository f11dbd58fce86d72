// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/mpi_group.h"

#include "engine/comm/groups/mpi_ranks.h"
#include "stepscope/crew/mpi_library.h"

namespace stepscope {

namespace {

Result<const comm::MpiRanks*> mpi_ranks() {
#if defined(STEPSCOPE_HAS_MPI)
  return stepscope_mpi_ranks();
#elif defined(STEPSCOPE_LOADS_MPI)
  const auto entry = loaded_mpi_function("stepscope_mpi_ranks");
  if (!entry) return entry.error();
  return reinterpret_cast<const comm::MpiRanks* (*)()>(*entry)();
#else
  return no_mpi_in_this_build();
#endif
}

}  // namespace

Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& options) {
  const auto found = mpi_ranks();
  if (!found) return found.error();
  return (*found)->make_group(options);
}

int mpi_ranks_of_host() {
  const auto found = mpi_ranks();
  return found ? (*found)->of_host() : 0;
}

void abandon_mpi() noexcept {
  if (const auto job = mpi_job()) (*job)->abandon();
}

}  // namespace stepscope

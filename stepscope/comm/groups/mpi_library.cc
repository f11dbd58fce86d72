// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/mpi_library.h"

#ifdef STEPSCOPE_HAS_MPI

#include <chrono>
#include <cstdlib>

#include "stepscope/comm/groups/mpi_exchange.h"

namespace stepscope::comm {
namespace {

void finalize() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0 && !mpi_failed()) MPI_Finalize();  // otherwise the launcher ends the job
}

HostRanks& host_ranks() {
  static HostRanks ranks;
  return ranks;
}

Result<std::unique_ptr<Communicator>> make_world(const MpiOptions& options) {
  int started = 0;
  MPI_Initialized(&started);
  if (started == 0) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    std::atexit(finalize);
  }
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  host_ranks() = ranks_on_this_host(world);
  return connect(world, "world", options, std::chrono::seconds(60));
}

}  // namespace
}  // namespace stepscope::comm

const stepscope::comm::MpiLibrary* stepscope_mpi_library() {
  namespace comm = stepscope::comm;
  static const comm::MpiLibrary library = {
      comm::make_world, [] { return comm::host_ranks().count; },
      [] { return comm::host_ranks().first; }, [] { comm::mpi_failed() = true; }};
  return &library;
}

#endif

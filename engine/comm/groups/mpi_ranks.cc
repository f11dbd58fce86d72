// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/mpi_ranks.h"

#ifdef STEPSCOPE_HAS_MPI

#include <chrono>

#include "engine/comm/groups/mpi_exchange.h"

namespace stepscope::comm {
namespace {

int& ranks_of_host() {
  static int ranks = 0;
  return ranks;
}

Result<std::unique_ptr<Communicator>> make_world(const MpiOptions& options) {
  const MPI_Comm world = open_mpi_world();
  ranks_of_host() = ranks_on_this_host(world).count;
  return connect(world, "world", options, std::chrono::seconds(60));
}

}  // namespace
}  // namespace stepscope::comm

const stepscope::comm::MpiRanks* stepscope_mpi_ranks() {
  namespace comm = stepscope::comm;
  static const comm::MpiRanks ranks = {comm::make_world, [] { return comm::ranks_of_host(); }};
  return &ranks;
}

#endif

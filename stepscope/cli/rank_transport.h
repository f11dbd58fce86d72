// SPDX-License-Identifier: Apache-2.0
// How the ranks of a command come to be: it starts them itself, or an MPI launcher has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/comm/groups/mpi_group.h"

namespace stepscope {

enum class RankTransport : std::uint8_t {
  shm,          // processes of this host that the command starts
  threads,      // of this process
  mpi,          // what a launcher started: shared memory on one host, else messages
  mpi_messages  // the same, but messages on one host too
};

// `asked` is --transport as typed (empty: mpi where a launcher has started this process, else shm),
// `ranks` is --ranks (0: not given). Errors are wrong usage.
[[nodiscard]] Result<RankTransport> rank_transport(std::string_view asked, int ranks,
                                                   const std::optional<LaunchedRank>& launched);
[[nodiscard]] std::string_view transport_name(RankTransport transport);

// Runs `rank` as the rank that a launcher started this process as; returns its exit code. A rank
// that fails ends the job: it does not wait for the others at its end.
[[nodiscard]] int run_as_mpi_rank(RankTransport transport,
                                  const std::function<int(std::unique_ptr<Communicator>)>& rank);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// How the ranks of a program come to be: it starts them itself, or an MPI launcher has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/groups/mpi_group.h"
#include "stepscope/base/result.h"

namespace stepscope {

enum class RankTransport : std::uint8_t {
  shm,          // processes of this host that the program starts
  threads,      // of this process
  mpi,          // what a launcher started: shared memory on one host, else messages
  mpi_messages  // the same, but messages on one host too
};

// `asked` is the name of one (empty: mpi where a launcher has started this process, else shm),
// `ranks` the number asked for (0: none). Errors are wrong usage and name flags of the command.
[[nodiscard]] Result<RankTransport> rank_transport(std::string_view asked, int ranks,
                                                   const std::optional<LaunchedRank>& launched);
[[nodiscard]] std::string_view transport_name(RankTransport transport);

// Whether this process speaks where all processes of a launcher have the same to say: it is their
// first, or no launcher has started it.
[[nodiscard]] bool speaks_for_launched();

// Joins the ranks that an MPI launcher has started. Errors: no MPI, no memory; MPI joins fewer
// processes than the launcher has started. Processes other than the first get the code `reported`.
// The launcher then ends the job.
[[nodiscard]] Result<std::unique_ptr<Communicator>> join_launched(RankTransport transport);

}  // namespace stepscope

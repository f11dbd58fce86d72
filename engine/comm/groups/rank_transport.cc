// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/groups/rank_transport.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/comm/groups/shm_group.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 4> names = {"shm", "threads", "mpi", "mpi-messages"};

bool over_mpi(RankTransport t) {
  return t == RankTransport::mpi || t == RankTransport::mpi_messages;
}

// The launcher's processes have to be one job.
Result<Done> check_world(const Communicator& comm) {
  const int launched = launched_rank().value_or(LaunchedRank{}).ranks;
  if (launched == 0 || launched == comm.size()) return Done{};
  return Error{
      .what = "the launcher has started " + std::to_string(launched) +
              " processes, of which MPI joins " + std::to_string(comm.size()),
      .hint = "use the mpirun of the MPI that this program was built with, or srun --mpi=pmix"};
}

}  // namespace

std::string_view transport_name(RankTransport transport) {
  return names[static_cast<std::size_t>(transport)];
}

Result<RankTransport> rank_transport(std::string_view asked, int ranks,
                                     const std::optional<LaunchedRank>& launched) {
  RankTransport transport = launched ? RankTransport::mpi : RankTransport::shm;
  if (const auto* const found = std::ranges::find(names, asked); found != names.end())
    transport = static_cast<RankTransport>(found - names.begin());
  if (!over_mpi(transport)) {
    if (launched && launched->ranks > 1)
      return Error{.what = "--transport " + std::string(asked) + ": each of the " +
                           std::to_string(launched->ranks) +
                           " processes that a launcher has started would be a job of its own",
                   .hint = "leave --transport out, or the launcher"};
    return transport;
  }
  if (!launched)
    return Error{.what = "--transport " + std::string(asked) + ": no MPI launcher has started this",
                 .hint = "put mpirun -n RANKS or srun -n RANKS before the command"};
  if (ranks > 0 && launched->ranks > 0 && ranks != launched->ranks)
    return Error{.what = "--ranks " + std::to_string(ranks) + ": the launcher has started " +
                         std::to_string(launched->ranks),
                 .hint = "leave --ranks out: the launcher decides"};
  return transport;
}

bool speaks_for_launched() {
  return is_spawned_rank() || launched_rank().value_or(LaunchedRank{}).rank == 0;
}

Result<std::unique_ptr<Communicator>> join_launched(RankTransport transport) {
  auto comm = make_mpi_group({.shared_memory = transport == RankTransport::mpi});
  const Result<Done> joined = comm ? check_world(**comm) : comm.error();
  if (joined) return comm;
  abandon_mpi();
  Error error = joined.error();
  if (!speaks_for_launched()) error.code = ErrorCode::reported;
  return error;
}

}  // namespace stepscope

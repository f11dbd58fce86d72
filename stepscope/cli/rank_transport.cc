// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/rank_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"

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
      .what = fmt::format("the launcher has started {} processes, of which MPI joins {}", launched,
                          comm.size()),
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
      return Error{.what = fmt::format("--transport {}: each of the {} processes that a launcher "
                                       "has started would be a job of its own",
                                       asked, launched->ranks),
                   .hint = "leave --transport out, or the launcher"};
    return transport;
  }
  if (!launched)
    return Error{.what = fmt::format("--transport {}: no MPI launcher has started this", asked),
                 .hint = "put mpirun -n RANKS or srun -n RANKS before the command"};
  if (ranks > 0 && launched->ranks > 0 && ranks != launched->ranks)
    return Error{
        .what = fmt::format("--ranks {}: the launcher has started {}", ranks, launched->ranks),
        .hint = "leave --ranks out: the launcher decides"};
  return transport;
}

int run_as_mpi_rank(RankTransport transport,
                    const std::function<int(std::unique_ptr<Communicator>)>& rank) {
  Failures failures;
  auto comm = make_mpi_group({.shared_memory = transport == RankTransport::mpi});
  const Result<Done> joined = comm ? check_world(**comm) : comm.error();
  if (!joined) {
    if (launched_rank().value_or(LaunchedRank{}).rank == 0) failures.add(joined.error());
    abandon_mpi();
    return exit_failed;
  }
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if ((*comm)->rank() == 0 && mpi_ranks_of_host() > cores)
    fmt::print(stderr, "stepscope: {} ranks share {} cores: times show the sharing\n",
               mpi_ranks_of_host(), cores);
  const int code = rank(std::move(*comm));
  if (code == exit_failed) abandon_mpi();  // else all ranks end alike
  return code;
}

}  // namespace stepscope

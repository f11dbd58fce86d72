// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/mpi_group.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

#ifdef STEPSCOPE_HAS_MPI
#include "stepscope/comm/groups/mpi_exchange.h"
#endif

namespace stepscope {

namespace {

std::optional<int> environment_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  struct Launcher {
    const char* rank;
    const char* ranks;
  };
  constexpr std::array launchers = {Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                    Launcher{"PMI_RANK", "PMI_SIZE"}};
  for (const auto& [rank, ranks] : launchers)
    if (const auto own = environment_number(rank))
      return LaunchedRank{*own, environment_number(ranks).value_or(0)};
  // A batch script has SLURM_PROCID too, but is not a step.
  if (const auto own = environment_number("SLURM_PROCID");
      own && environment_number("SLURM_STEP_ID"))
    return LaunchedRank{*own, environment_number("SLURM_STEP_NUM_TASKS").value_or(0)};
  if (const auto own = environment_number("PMIX_RANK")) return LaunchedRank{*own, 0};
  return std::nullopt;
}

#ifndef STEPSCOPE_HAS_MPI

bool has_mpi() { return false; }

Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& /*options*/) {
  return Error{.what = "this build of stepscope has no MPI",
               .hint = "install libopenmpi-dev and openmpi-bin, and build again"};
}

int mpi_ranks_of_host() { return 0; }
void abandon_mpi() noexcept {}

#else

namespace comm {
namespace {

void finalize() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0 && !mpi_failed()) MPI_Finalize();  // otherwise the launcher ends the job
}

int& ranks_of_host() {
  static int ranks = 0;
  return ranks;
}

}  // namespace

}  // namespace comm

bool has_mpi() { return true; }
int mpi_ranks_of_host() { return comm::ranks_of_host(); }
void abandon_mpi() noexcept { comm::mpi_failed() = true; }

Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& options) {
  int started = 0;
  MPI_Initialized(&started);
  if (started == 0) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    std::atexit(comm::finalize);
  }
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  comm::ranks_of_host() = comm::ranks_on_this_host(world);
  return comm::connect(world, "world", options, std::chrono::seconds(60));
}

#endif

}  // namespace stepscope

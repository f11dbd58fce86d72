// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/mpi_group.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

#ifdef STEPSCOPE_HAS_MPI
#include <unistd.h>

#include "stepscope/comm/groups/mpi_exchange.h"
#include "stepscope/comm/window/window_group.h"
#include "stepscope/comm/window/window_join.h"
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
  // A batch script has SLURM_PROCID too, but is no step.
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
  if (ended == 0 && !mpi_failed()) MPI_Finalize();  // else the launcher ends the job
}

// Where rank 0 of a group holds its window open; the same at all ranks.
struct Held {
  std::int64_t process = -1;  // -1: it could not be made
  std::int64_t descriptor = -1;
  std::array<char, 256> why{};
};

// Whether this is so at every rank.
bool everywhere(MPI_Comm group, bool here) {
  int all = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, group);
  return all == 1;
}

int ranks_on_this_host(MPI_Comm group) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(group, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int here = 0;
  MPI_Comm_size(host, &here);
  MPI_Comm_free(&host);
  return here;
}

bool on_one_host(MPI_Comm group) {
  int all = 0;
  MPI_Comm_size(group, &all);
  return everywhere(group, ranks_on_this_host(group) == all);
}

int& ranks_of_host() {
  static int ranks = 0;
  return ranks;
}

Result<std::unique_ptr<Communicator>> share_memory(MPI_Comm group, const std::string& name,
                                                   const MpiOptions& options, Ns deadline) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(group, &rank);
  MPI_Comm_size(group, &ranks);
  Held held;
  int segment = -1;
  if (rank == 0) {
    const auto made = make_segment(window_shape(ranks, options.bucket));
    if (made) {
      segment = *made;
      held = {::getpid(), segment, {}};
    } else {
      const std::string why = made.error().message();
      std::copy_n(why.begin(), std::min(why.size(), held.why.size()), held.why.begin());
    }
  }
  MPI_Bcast(&held, sizeof held, MPI_BYTE, 0, group);
  if (held.process < 0)
    return Error{.what = std::string(text_of({held.why.data(), held.why.size()}))};
  auto window = rank == 0 ? Window::map(segment) : open_window(held.process, held.descriptor);
  const bool all = everywhere(group, window.has_value());
  if (segment >= 0) ::close(segment);
  if (!window) return window.error();
  if (!all) return Error{.what = "another rank of this host cannot open the shared memory"};
  return join_window(std::move(*window), rank, name, deadline);
}

}  // namespace

Result<std::unique_ptr<Communicator>> connect(MPI_Comm group, std::string name,
                                              const MpiOptions& options, Ns deadline) {
  if (options.shared_memory && on_one_host(group)) {
    auto shared = share_memory(group, name, options, deadline);
    MPI_Comm_free(&group);
    return shared;
  }
  MPI_Comm headers = MPI_COMM_NULL;
  MPI_Comm_dup(group, &headers);
  return std::unique_ptr<Communicator>(
      std::make_unique<MpiExchange>(headers, group, std::move(name), options, deadline));
}

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

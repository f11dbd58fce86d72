// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/mpi_group.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#ifdef STEPSCOPE_HAS_MPI
#include <unistd.h>

#include "stepscope/comm/mpi_exchange.h"
#include "stepscope/comm/window_group.h"
#include "stepscope/comm/window_join.h"
#endif

namespace stepscope {

bool is_mpi_rank() {
  constexpr std::array names = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  return std::ranges::any_of(names, [](const char* name) { return std::getenv(name) != nullptr; });
}

#ifndef STEPSCOPE_HAS_MPI

bool has_mpi() { return false; }

Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& /*options*/) {
  return Error{.what = "this build of stepscope has no MPI",
               .hint = "install libopenmpi-dev and openmpi-bin, and build again"};
}

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

bool on_one_host(MPI_Comm group) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(group, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int all = 0;
  int here = 0;
  MPI_Comm_size(group, &all);
  MPI_Comm_size(host, &here);
  MPI_Comm_free(&host);
  return everywhere(group, here == all);
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
  return comm::connect(world, "world", options, std::chrono::seconds(60));
}

#endif

}  // namespace stepscope

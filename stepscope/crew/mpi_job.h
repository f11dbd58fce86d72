// SPDX-License-Identifier: Apache-2.0
// The processes of an MPI job. The code behind it calls MPI. It is part of the program where the
// build has found an MPI. A program for machines whose MPI is not known has it in shared libraries,
// one for each binary interface of MPI (mpi_library.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#ifdef STEPSCOPE_HAS_MPI
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace stepscope {

// Processes that gather what each of them has. All of them make the same calls. MPI ends the job at
// an error.
class GatheringGroup {
 public:
  GatheringGroup() = default;
  GatheringGroup(const GatheringGroup&) = delete;
  GatheringGroup& operator=(const GatheringGroup&) = delete;
  virtual ~GatheringGroup() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // Begins to gather `own` of each process into `all`, by rank. All processes have the same number
  // of bytes: up to 2 GiB, or up to 128 GiB in multiples of 64. Both stay in place until
  // gathered().
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  // Makes progress without blocking.
  [[nodiscard]] virtual bool gathered() = 0;
  // A group of these ranks, in this order. Null for a process that is not named.
  [[nodiscard]] virtual std::unique_ptr<GatheringGroup> subgroup(std::span<const int> ranks) = 0;
};

struct HostRanks {
  int count = 0;  // processes of a group on this host
  int first = 0;  // the lowest of their ranks
};

struct MpiJob {
  // All processes of the job. Initialises MPI if the program has not, and then finalises it at
  // exit.
  std::unique_ptr<GatheringGroup> (*world)();
  HostRanks (*on_this_host)();
  // Call this after a failure that other processes may not share. This process then exits without
  // waiting for them, and the launcher ends the job.
  void (*abandon)();
};

#ifdef STEPSCOPE_HAS_MPI
// A copy of the group of all processes; initialises as world() does.
[[nodiscard]] MPI_Comm open_mpi_world();
[[nodiscard]] HostRanks ranks_on_this_host(MPI_Comm group);
// Whether a group has failed. Its unfinished operations would keep MPI_Finalize from ever
// returning.
[[nodiscard]] bool& mpi_failed() noexcept;
#endif

}  // namespace stepscope

// Lives as long as the process.
extern "C" const stepscope::MpiJob* stepscope_mpi_job();

// SPDX-License-Identifier: Apache-2.0
// Variants of a training on ranks that are processes. matrix_rank runs them, with one group of
// processes for all variants of a training, and writes the results to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "tests/training/matrix.h"

namespace stepscope::matrix {

struct Tally {
  int configurations = 0;
  std::int64_t differences = 0;
  int clipped = 0;                    // steps with clipping in the references
  std::vector<std::string> faults{};  // variants that differ
  Tally& operator+=(const Tally& other);
};

enum class Transport : std::uint8_t {
  shm,  // shared memory
  mpi   // MPI messages between ranks that mpirun starts
};

// The task of a group of processes.
struct Job {
  Transport transport = Transport::shm;
  Extent extent = Extent::core;
  std::size_t training = 0;  // index in trainings(extent)
  std::uint64_t delays = 0;  // seed of random delays in every call and kernel; 0: none
  std::string file{};        // rank r writes `file`.r
};
// Parses the arguments of matrix_rank.
[[nodiscard]] Result<Job> job_of(int count, char** arguments);

// One rank's part of an outcome.
void write_outcome(std::ostream& out, const zero::TrainingState& state,
                   const std::vector<zero::StepResult>& steps);

// Starts `ranks` processes for the job and compares each variant with the reference. Errors: they
// cannot be started, or one failed.
[[nodiscard]] Result<Tally> compare_processes(const Job& job, int ranks);

}  // namespace stepscope::matrix

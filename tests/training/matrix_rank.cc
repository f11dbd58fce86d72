// SPDX-License-Identifier: Apache-2.0
// matrix_rank core|full TRAINING DELAYS FILE: one rank of a group of processes. It runs every
// variant of a training (matrix.h) and writes each result to FILE.RANK.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "engine/comm/groups/mpi_group.h"
#include "engine/comm/groups/shm_group.h"
#include "engine/comm/measured/jitter_test_communicator.h"
#include "engine/zero/engine/engine_test_delays.h"
#include "tests/training/matrix_processes.h"

namespace {

using namespace stepscope;

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

int run_rank(const matrix::Job& job) {
  auto comm = launched_rank() ? make_mpi_group({.shared_memory = false}) : join_shm_group();
  if (!comm) return fail(comm.error().message());
  if (job.delays != 0) {
    *comm = jitter(*std::move(comm), job.delays, std::chrono::microseconds(200));
  }
  const int rank = (*comm)->rank();
  zero::RandomDelays delays(job.delays, rank, std::chrono::microseconds(100));
  std::ofstream out(job.file + "." + std::to_string(rank), std::ios::binary);
  const matrix::Training training = matrix::trainings(job.extent)[job.training];
  for (const matrix::Variant& variant : matrix::variants(job.extent)) {
    zero::TestRun run = matrix::run_of(training, variant, (*comm)->size());
    run.before_step = [&](zero::TestRank& of, int) {
      if (job.delays != 0) of.engine.observe(&delays);
    };
    zero::TestOutcome outcome = zero::no_outcome(run);
    std::string failed;
    run.at_end = [&](zero::TestRank& of) {
      auto state = of.engine.state();
      if (!state) {
        failed = state.error().message();
        return;
      }
      matrix::write_outcome(out, *state, outcome.steps[static_cast<std::size_t>(rank)]);
    };
    const std::string why = zero::train_rank(run, **comm, outcome);
    if (!why.empty()) return fail(why);
    if (!failed.empty()) return fail(failed);
  }
  return out.flush() ? 0 : fail("no room for the outcome");
}

}  // namespace

int main(int count, char** arguments) {
  const auto job = stepscope::matrix::job_of(count, arguments);
  if (!job) return fail(job.error().message());
  return run_rank(*job);
}

// SPDX-License-Identifier: Apache-2.0
// The stage matrix on ranks that are processes, against stage 0 on threads: a row for each world
// size and kind of training, with the differences. Exit status 1 if anything differs.
//
//   build/release/tests/training/stage_matrix core|full shm|mpi RANKS...
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "stepscope/base/scratch_test_folder.h"
#include "tests/training/matrix_processes.h"

namespace {

using namespace stepscope;

void print_row(const std::string& where, const std::string& what, const matrix::Tally& tally) {
  std::printf("%-8s %-36s %14d %13d %12lld\n", where.c_str(), what.c_str(), tally.configurations,
              tally.clipped, static_cast<long long>(tally.differences));
  std::fflush(stdout);
}

// Trainings with one text differ in clipping and dropout; they are adjacent.
bool run(matrix::Job job, int ranks, matrix::Tally& all) {
  const test::Folder folder;
  job.file = folder.file("outcome");
  const std::string where =
      (job.transport == matrix::Transport::shm ? "shm " : "mpi ") + std::to_string(ranks);
  const auto trainings = matrix::trainings(job.extent);
  matrix::Tally row;
  for (job.training = 0; job.training < trainings.size(); ++job.training) {
    const auto tally = matrix::compare_processes(job, ranks);
    if (!tally) {
      std::fprintf(stderr, "%s\n", tally.error().message().c_str());
      return false;
    }
    row += *tally;
    const std::string what = matrix::text_of(trainings[job.training]);
    const std::size_t next = job.training + 1;
    if (next < trainings.size() && matrix::text_of(trainings[next]) == what) continue;
    print_row(where, what, row);
    all += row;
    row = {};
  }
  return true;
}

int usage() {
  std::fprintf(stderr, "usage: stage_matrix core|full shm|mpi RANKS...\n");
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() < 3 || (words[0] != "core" && words[0] != "full") ||
      (words[1] != "shm" && words[1] != "mpi")) {
    return usage();
  }
  const matrix::Job job{
      .transport = words[1] == "shm" ? matrix::Transport::shm : matrix::Transport::mpi,
      .extent = words[0] == "core" ? matrix::Extent::core : matrix::Extent::full};
  std::printf("%-8s %-36s %14s %13s %12s\n", "ranks", "training", "configurations", "clipped steps",
              "differences");
  matrix::Tally all;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const int ranks = std::atoi(words[i].c_str());
    if (ranks < 1) return usage();
    if (!run(job, ranks, all)) return 3;
  }
  print_row("all", "", all);
  for (const std::string& fault : all.faults) std::printf("%s\n", fault.c_str());
  return all.differences == 0 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// The peer of bench/comm: the same messages sent by the MPI library. Run it under mpirun; rank 0
// prints.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "bench/comm_timing.h"

namespace stepscope::bench {
namespace {

void run() {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto n = static_cast<std::size_t>(ranks);
  for (const std::size_t bytes : comm_sizes) {
    const std::size_t count = bytes / sizeof(float);
    std::vector<float> in(count);
    std::vector<float> out(count);
    const auto block = static_cast<int>(count / n);
    const auto refill = [&] { std::ranges::fill(in, static_cast<float>(rank)); };
    const auto meet = [] { MPI_Barrier(MPI_COMM_WORLD); };
    const int times = repetitions(bytes);
    const std::array<double, 3> took = {
        median_seconds(times, refill, meet,
                       [&] {
                         MPI_Reduce_scatter_block(in.data(), out.data(), block, MPI_FLOAT, MPI_SUM,
                                                  MPI_COMM_WORLD);
                       }),
        median_seconds(times, refill, meet,
                       [&] {
                         MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), block,
                                       MPI_FLOAT, MPI_COMM_WORLD);
                       }),
        median_seconds(times, refill, meet, [&] {
          MPI_Allreduce(MPI_IN_PLACE, in.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                        MPI_COMM_WORLD);
        })};
    if (rank != 0) continue;
    print_row("reduce_scatter", bytes, took[0]);
    print_row("all_gather", bytes, took[1]);
    print_row("all_reduce", bytes, took[2]);
  }
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  stepscope::bench::run();
  return MPI_Finalize();
}

// SPDX-License-Identifier: Apache-2.0
// The command that started a benchmark, as scripts echo it into its output: mpirun, mpiexec or srun
// with the number of processes, and a program of nccl-tests or of the OSU micro-benchmarks.
#pragma once

#include <optional>
#include <string_view>

namespace stepscope {

struct BenchmarkLaunch {
  int ranks = 0;
  int hosts = 0;  // 0: the command does not say
};

// Absent: the line is no such command, or has no number of processes.
[[nodiscard]] std::optional<BenchmarkLaunch> benchmark_launch(std::string_view line);

}  // namespace stepscope

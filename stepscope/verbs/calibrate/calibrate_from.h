// SPDX-License-Identifier: Apache-2.0
// A machine that is fitted to what was measured on it: its links to benchmarks of collectives, its
// compute curves to times of kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/fit/benchmark_fit.h"
#include "stepscope/fit/kernels/kernel_fit.h"
#include "stepscope/read/nccl/size_time_table.h"

namespace stepscope {

struct CalibrateFromRequest {
  // Outputs of nccl-tests, of OSU micro-benchmarks, or of python -m stepscope.torch.kernels; tables
  // of messages' sizes and times.
  std::vector<std::string> files{};
  // That they ran on: of the catalogue, or a machine file. Empty: by the first device they name.
  std::string machine{};
  BenchmarkPlace place{};                // where a file does not say: ranks, and hosts
  SizeTimeOptions table{};               // where a table does not say: collective, unit of times
  std::optional<CollectiveKind> kind{};  // where a benchmark's table does not say
  std::optional<int> gpus_per_node{};    // that share the fast links; goes over the machine's
};

struct CalibrateFromResult {
  std::vector<PlacedBenchmark> benchmarks{};  // the files that could be used
  std::vector<KernelTimes> kernels{};         // of the files that could be used
  std::optional<BenchmarkFit> fit{};          // absent: no benchmark could be fitted
  std::optional<KernelFit> kernel_fit{};      // absent: no times of kernels could be fitted
  std::optional<Machine> machine{};           // with all fits; absent: no machine was made, see
                                              // failures
  std::vector<Error> failures{};
};

// Errors: no machine is known.
[[nodiscard]] Result<CalibrateFromResult> calibrate_from(const CalibrateFromRequest& request,
                                                         const Progress& progress = {});

}  // namespace stepscope

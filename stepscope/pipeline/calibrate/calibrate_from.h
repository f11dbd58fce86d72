// SPDX-License-Identifier: Apache-2.0
// A machine whose links are fitted to what benchmarks of collectives measured on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/fit/benchmark_fit.h"
#include "stepscope/pipeline/progress.h"

namespace stepscope {

struct CalibrateFromRequest {
  std::vector<std::string> files{};  // outputs of nccl-tests or OSU micro-benchmarks
  // That they ran on: of the catalogue, or a machine file. Empty: by the first device they name.
  std::string machine{};
  BenchmarkPlace place{};  // where a file does not say: ranks, and hosts (one)
};

struct CalibrateFromResult {
  std::vector<PlacedBenchmark> benchmarks{};  // the files that could be used
  std::optional<BenchmarkFit> fit{};          // absent: nothing to fit, see failures
  std::vector<Error> failures{};
};

// Errors: no machine is known.
[[nodiscard]] Result<CalibrateFromResult> calibrate_from(const CalibrateFromRequest& request,
                                                         const Progress& progress = {});

}  // namespace stepscope

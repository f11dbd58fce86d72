// SPDX-License-Identifier: Apache-2.0
// Benchmarks of collectives (nccl-tests, OSU) as timings on a machine's links, the machine whose
// links explain them, and what each model says beside what was measured.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/event/comm_benchmark.h"
#include "stepscope/fit/transfer_fit.h"

namespace stepscope {

// What the files do not say.
struct BenchmarkPlace {
  std::optional<int> ranks{};
  std::optional<int> hosts{};
};

// One file's figures, placed. Totals: a size that is one rank's is multiplied by their number.
struct PlacedBenchmark {
  CommBenchmark benchmark;
  int ranks = 0;
  int hosts = 1;
  bool hosts_assumed = false;
  std::vector<CollectiveTiming> timings;  // empty for a bandwidth test
};

// Error: no number of ranks, one rank, ranks unevenly on hosts, or a group that the machine's links
// do not join.
[[nodiscard]] Result<PlacedBenchmark> place_benchmark(CommBenchmark benchmark,
                                                      const Machine& machine,
                                                      const BenchmarkPlace& place);

struct BenchmarkRow {
  CollectiveKind kind = CollectiveKind::unknown;
  int ranks = 0;
  int hosts = 1;
  Bytes bytes{};
  Seconds measured{};                 // median where there are several
  std::optional<Seconds> fitted{};    // time = start + bytes / rate, in pieces
  std::optional<Seconds> modelled{};  // by the fitted machine
  std::optional<Seconds> before{};    // by the machine as it was
};

struct BenchmarkFit {
  Machine machine;  // with the timing of its links fitted
  std::vector<TransferFit> transfers;
  std::vector<BenchmarkRow> rows;
  double fitted_error = 0;  // |model / measured - 1|, mean over the rows that the model reaches
  double modelled_error = 0;
  double before_error = 0;
};

// `source` goes into the machine file. Error: no timing at all; links that the machine lacks.
[[nodiscard]] Result<BenchmarkFit> fit_benchmarks(const Machine& base,
                                                  std::span<const PlacedBenchmark> benchmarks,
                                                  const std::string& source);

}  // namespace stepscope

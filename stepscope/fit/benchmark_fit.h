// SPDX-License-Identifier: Apache-2.0
// Benchmarks of collectives (nccl-tests, OSU) as timings on a machine's links, the machine whose
// links explain them, and each model's times compared with the measured times.
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

// Facts that the files do not contain.
struct BenchmarkPlace {
  std::optional<int> ranks{};
  std::optional<int> hosts{};  // absent: as few as the machine's domains of fast links allow
};

// The placed figures of one file. Sizes are totals: a per-rank size is multiplied by the number of
// ranks.
struct PlacedBenchmark {
  CommBenchmark benchmark;
  int ranks = 0;
  int hosts = 1;
  bool hosts_assumed = false;
  std::vector<CollectiveTiming> timings;  // empty for a bandwidth test
};

// Errors: no number of ranks, one rank, ranks spread unevenly over hosts, hosts that cannot be
// assumed, or a group that the machine's links do not join.
[[nodiscard]] Result<PlacedBenchmark> place_benchmark(CommBenchmark benchmark,
                                                      const Machine& machine,
                                                      const BenchmarkPlace& place);

// A measured transfer and the times that models give for it.
struct BenchmarkRow {
  CollectiveKind kind = CollectiveKind::unknown;
  int ranks = 0;
  int hosts = 1;
  Bytes bytes{};
  Seconds measured{};                    // median if there are several
  std::optional<TimingSpread> spread{};  // of several timings, or of the calls of one
  std::optional<Seconds> fitted{};       // time = start + bytes / rate, in pieces
  std::optional<Seconds> modelled{};     // by the fitted machine
  std::optional<Seconds> before{};       // by the original machine
};

struct BenchmarkFit {
  Machine machine;  // the base with fitted link timing
  std::vector<TransferFit> transfers;
  std::vector<BenchmarkRow> rows;
  double fitted_error = 0;  // |model / measured - 1|, mean over the rows within the model's reach
  double modelled_error = 0;
  double before_error = 0;
  double reached_inside = 1;  // as in FittedMachine
  double reached_across = 1;
};

// What calibrate() measured. `transfers`: fits of `measured`. There is no `before`.
[[nodiscard]] std::vector<BenchmarkRow> benchmark_rows(std::span<const CollectiveTiming> measured,
                                                       const Machine& fitted,
                                                       std::span<const TransferFit> transfers);

// `source` is stored in the machine file. Errors: no timing at all; links that the machine lacks.
[[nodiscard]] Result<BenchmarkFit> fit_benchmarks(const Machine& base,
                                                  std::span<const PlacedBenchmark> benchmarks,
                                                  const std::string& source);

}  // namespace stepscope

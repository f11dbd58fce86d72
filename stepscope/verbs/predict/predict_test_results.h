// SPDX-License-Identifier: Apache-2.0
// Predictions, for tests.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/verbs/predict/predict.h"
#include "stepscope/verbs/predict/predict_collective.h"

namespace stepscope::test {

// A step of thirds.
struct Predicted {
  PredictResult report;
  Predicted() {
    report.model.name = std::string("model");
    report.machine.name = std::string("machine");
    report.machine.memory = Bytes{80'000'000'000};
    report.plan.devices = report.plan.dp = 4;
    report.plan.batch.global = 8;
    for (const StepTerm t : {StepTerm::matmul, StepTerm::bubble, StepTerm::data})
      report.cost.seconds[static_cast<std::size_t>(t)] = 1.0;
    report.cost.mfu[0] = 0.3;
    report.cost.tokens_per_second = 1000;
    report.cost.memory.bytes[0] = 50e9;
  }
};

inline AlgorithmTime algorithm_time(Algorithm a, double us, bool offered = true) {
  return {.algorithm = a,
          .protocol = Protocol::simple,
          .offered = offered,
          .time = Seconds{us * 1e-6},
          .formula = "1 us + S / 100 GB/s"};
}

// Two sizes; the ring is best for the larger.
inline PredictCollectiveResult two_sizes() {
  PredictCollectiveResult result{.machine = "M", .sweep = {}, .warnings = {msg::plain("a guess")}};
  CollectiveSweep& sweep = result.sweep;
  sweep.kind = CollectiveKind::all_gather;
  sweep.group = {.size = 16, .members = 8, .domains = 2};
  const AlgorithmTime tree = algorithm_time(Algorithm::tree, 10);
  const AlgorithmTime ring = algorithm_time(Algorithm::ring, 20);
  const AlgorithmTime other = algorithm_time(Algorithm::hierarchical, 30, false);
  sweep.points = {{Bytes{1000}, {tree, ring, other}, tree, ByteRate{9e7}},
                  {Bytes{2'000'000}, {ring, tree}, ring, ByteRate{9e10}}};
  sweep.crossovers = {
      {Bytes{40'000}, Algorithm::tree, Protocol::ll, Algorithm::ring, Protocol::simple}};
  return result;
}

}  // namespace stepscope::test

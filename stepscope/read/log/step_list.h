// SPDX-License-Identifier: Apache-2.0
// Step times as lists, tables and logs give them (step_times.h reads them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/read/log/step_parts.h"

namespace stepscope {

struct RankStepTime {
  int rank = 0;
  std::int64_t iteration = 0;
  double wall_ns = 0;  // finite and > 0
};

struct StepTimes {
  std::vector<double> wall_ns{};      // in time order, finite and > 0
  std::vector<std::string> causes{};  // parallel, or empty: "checkpoint", "eval", …
  // Parallel, -1 without a number; empty if the input does not number its steps.
  std::vector<std::int64_t> iterations{};
  std::vector<double> tokens{};  // parallel, > 0; empty unless the input gives it for each step
  std::vector<RankStepTime> ranks{};  // of each rank and numbered step; empty without ranks
  StepParts parts{};                  // of tables that have phases; else empty
  // "column wall_ns", "Megatron-LM: elapsed time per iteration", "stepscope train", "numbers"
  std::string source{};
  bool unit_assumed = false;           // the input names no unit
  std::uint64_t left_out = 0;          // rows without a positive number
  std::vector<std::string> remarks{};  // warnings about a log's times
};

}  // namespace stepscope

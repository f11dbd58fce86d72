// SPDX-License-Identifier: Apache-2.0
// What a rank executed in its steps: kernels, operators, ranges, FLOPs, counters.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/work/counter_figures.h"
#include "stepscope/analysis/work/executed.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/analysis/work/range_tree.h"

namespace stepscope {

struct RankWork {
  KernelTable kernels;
  std::vector<OperatorRow> operators;
  std::vector<RangeNode> ranges;
  Executed executed;
  std::optional<Overlap> overlap;         // of computation and communication
  std::optional<CounterSamples> samples;  // absent: none of a known metric
};

}  // namespace stepscope

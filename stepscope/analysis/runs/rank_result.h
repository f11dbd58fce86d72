// SPDX-License-Identifier: Apache-2.0
// What one rank of a job did: each member is the table that one analysis fills.
//
// Names in the tables are StringIds of the rank's own pool (RankResult::strings). The pool is part
// of the trace: keep the traces alive as long as the result.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/budget/idle.h"
#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/recording/recording.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/work/counter_figures.h"
#include "stepscope/analysis/work/device_memory.h"
#include "stepscope/analysis/work/executed.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/analysis/work/range_tree.h"

namespace stepscope {

struct RankDevice {
  std::string kind;  // "cuda", "rocm", "mtia", "xpu" or "cpu"
  std::string name;  // of its GPU; empty = not in the trace
  std::optional<Bytes> memory;
  std::vector<GpuWindow> windows;
  std::vector<IdleCause> idle;

  [[nodiscard]] bool is_cpu() const { return kind == "cpu"; }
  [[nodiscard]] const std::string& label() const { return name.empty() ? kind : name; }
};

// What the rank executed. Kernels, operators and the host's calls are those of the steps that
// count, else of all (accounted_steps()).
struct RankWork {
  KernelTable kernels;
  std::vector<OperatorRow> operators;
  std::vector<RangeNode> ranges;
  Executed executed;
  std::optional<Overlap> overlap;         // of computation and communication
  std::optional<CounterSamples> samples;  // absent: none of a known metric
};

// The account of a rank's steps that count (counted_steps.h), without idle pieces. Empty if no step
// counts.
struct CountedAccount {
  std::vector<Step> steps;
  TimeBudget budget;
  PhaseBudget phases;
  std::vector<ClassTime> classes;  // parallel to the steps; empty without a device
};

struct RankResult {
  int rank = 0;
  std::string role = "all";
  const StringPool* strings = nullptr;
  RankDevice device;
  std::vector<Step> steps;
  TimeBudget budget;
  PhaseBudget phases;
  CountedAccount counted;
  RankWork work;
  HostTable host;
  MemoryTable memory;
  RankRecording recording;
};

// By budget category, ns.
using CategoryMeans = std::array<double, budget_category_count>;
[[nodiscard]] CategoryMeans mean_budget(std::span<const Budget> budgets);

// The steps of a rank that count, else its recorded steps. The three are parallel.
struct AccountedSteps {
  std::span<const Step> steps;
  std::span<const Budget> budgets;
  std::span<const StepPhases> phases;
};
[[nodiscard]] AccountedSteps accounted_steps(const RankResult& rank);
// Their number and their sum.
[[nodiscard]] std::size_t accounted_count(const RankResult& rank);
[[nodiscard]] Budget accounted_budget(const RankResult& rank);
// Their mean. REQUIRES: steps.
[[nodiscard]] CategoryMeans mean_step_of(const RankResult& rank);

// Whether the first rank has no device, as the others then.
[[nodiscard]] bool on_cpu(std::span<const RankResult> ranks);
// Null: no trace is of it.
[[nodiscard]] const RankResult* find_rank(std::span<const RankResult> ranks, int rank);
// The first of several. REQUIRES: ranks.
template <class Of>
[[nodiscard]] const RankResult& rank_with_most(std::span<const RankResult> ranks, Of&& of) {
  return *std::ranges::max_element(ranks, {}, of);
}
// Largest number of recorded steps of any rank, at least 1. A sum over a rank's steps divided by
// this is per step.
[[nodiscard]] std::int64_t most_steps(std::span<const RankResult> ranks);
// The trace of the rank has no steps: its whole window is taken for one.
[[nodiscard]] bool is_window(const RankResult& rank);

struct AccountedRank {
  RankResult rank;
  HostPhases phases;
};
// Answers the questions about one rank, all but its role and the account of its counted steps.
// `lost`: IncompleteSteps::lost. `counted`: CountedSteps::of_view. `meanwhile` runs in parallel;
// may be empty.
[[nodiscard]] AccountedRank account_rank(const RankView& view, std::span<const Step> lost,
                                         std::span<const Step> counted, const CommSplit& split,
                                         unsigned threads, const std::function<void()>& meanwhile);

}  // namespace stepscope

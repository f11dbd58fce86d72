// SPDX-License-Identifier: Apache-2.0
// The few figures of a run that say whether it is worth a closer look.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Means over steps of one rank, in ns a step.
struct RankFacts {
  int rank = 0;
  std::string role = "all";
  Budget mean;
};

struct StepFacts {
  ComparedArm arm;  // its step times
  std::vector<RankFacts> ranks{};
  std::optional<double> mfu{};  // share of one
  std::optional<double> hfu{};
  std::vector<std::string> stragglers{};  // one sentence each
  bool arrivals_known = false;            // whether a straggler could have been seen
  std::optional<Bytes> headroom{};        // of the fullest device
  std::optional<Bytes> capacity{};        // of that device
};

// Compute of the rank with most of it over the median of its role.
struct RankBalance {
  int rank = 0;
  double excess = 0;  // share of the median
};
// Absent for one rank or none that computes.
[[nodiscard]] std::optional<RankBalance> rank_balance(std::span<const RankFacts> ranks);
// What of the mean step is in these categories, over all ranks; absent without ranks.
[[nodiscard]] std::optional<double> budget_share(std::span<const RankFacts> ranks,
                                                 std::span<const BudgetCategory> categories);

// Ranks, arrivals and memory of traces; step times, MFU and sentences are the caller's.
[[nodiscard]] StepFacts facts_of(const JobResult& job);

}  // namespace stepscope

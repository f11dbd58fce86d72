// SPDX-License-Identifier: Apache-2.0
// The few figures of a run that show if it is worth a closer look.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Means over steps of one rank, in ns per step.
struct RankFacts {
  int rank = 0;
  std::string role = "all";
  Budget mean;
};

struct StepFacts {
  ComparedArm arm;  // its step times
  std::vector<RankFacts> ranks{};
  std::optional<double> mfu{};  // as a fraction
  std::optional<double> hfu{};
  std::vector<std::string> stragglers{};  // one sentence each
  bool arrivals_known = false;            // true if a straggler could have been found
  std::string why_arrivals_unknown{};     // empty: ranks or comparable clocks are missing
  std::optional<Bytes> headroom{};        // of the fullest device
  std::optional<Bytes> capacity{};        // of that device
};

// Compute of the rank with most of it over the median of its role.
struct RankBalance {
  int rank = 0;
  double excess = 0;  // fraction of the median
};
// Absent for one rank, or if no rank computes.
[[nodiscard]] std::optional<RankBalance> rank_balance(std::span<const RankFacts> ranks);
// Share of these categories in the mean step, over all ranks; absent without ranks.
[[nodiscard]] std::optional<double> budget_share(std::span<const RankFacts> ranks,
                                                 std::span<const BudgetCategory> categories);

// Fills ranks, arrivals and memory from traces. The caller fills step times, MFU and sentences.
[[nodiscard]] StepFacts facts_of(const JobResult& job);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The idle time of a rank by cause, each with its largest instances and what the host did
// meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"

namespace stepscope {

struct IdleInstance {
  Ns start{};
  Ns wall{};
  std::int64_t step = 0;      // Step::index
  std::string host_activity;  // what the host thread did; host_activity.h
  std::optional<std::string>
      culprit;  // the operator around a sync, the loader, the operation waited for or launched
};

struct IdleCause {
  BudgetCategory cause = BudgetCategory::idle_unexplained;
  Ns total{};                         // equals the budget's category
  std::uint64_t count = 0;            // pieces
  std::vector<IdleInstance> largest;  // longest first
};

// Causes with any time, largest first. `steps` are those the budget was made for.
[[nodiscard]] std::vector<IdleCause> idle_causes(const Trace& trace, const RankIndex& rank,
                                                 std::span<const Step> steps,
                                                 const DeviceBudget& budget,
                                                 std::size_t largest = 5);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// The idle time of a rank by cause. Each cause lists its largest instances and the host's activity
// during them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/recording/recording.h"

namespace stepscope {

struct IdleInstance {
  Ns start{};
  Ns wall{};
  std::int64_t step = 0;               // Step::index
  std::string host_activity;           // of the host thread (host_waits.h)
  std::optional<std::string> culprit;  // operator around a sync, data loader, or the operation that
                                       // was awaited or launched
};

struct IdleCause {
  BudgetCategory cause = BudgetCategory::idle_unexplained;
  Ns total{};                         // equals the budget's category of this cause
  std::uint64_t count = 0;            // number of pieces
  std::vector<IdleInstance> largest;  // longest first
};

// Causes with time, largest first. `steps` are the steps of the budget.
[[nodiscard]] std::vector<IdleCause> idle_causes(const Trace& trace, const RankIndex& rank,
                                                 std::span<const Step> steps,
                                                 const DeviceBudget& budget,
                                                 std::size_t largest = 5);

// Sets the idle times of start-up and of its spans: the part of the pieces within the steps in
// which the device waits for its host or a launch meanwhile.
void find_idle_in_start_up(std::span<const IdlePiece> idle, std::span<const Step> steps,
                           StartUp& start_up);

// Time that threads which launch work wait for Python's global interpreter lock (GIL). Tools that
// probe take_gil write such rows; PyTorch's profiler does not.

struct GilWaits {
  std::uint64_t count = 0;
  Ns total{};  // overlapping rows of a thread count once
  Ns idle{};   // the part in which the device was idle and this thread was the next to launch
  Ns worst_at{};
  Ns worst{};  // duration of the longest single row
};

// True if the host row is a thread that waits for the lock.
[[nodiscard]] bool is_gil_wait(std::string_view name);

// Counts rows that begin inside a step's annotation. `budget` is the rank's own for these steps.
[[nodiscard]] GilWaits gil_waits(const Trace& trace, const RankIndex& rank,
                                 std::span<const Step> steps, const DeviceBudget& budget);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Time that threads which launch work wait for Python's global interpreter lock (GIL). Tools that
// probe take_gil write such rows; PyTorch's profiler does not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepscope/analysis/budget/time_budget.h"

namespace stepscope {

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

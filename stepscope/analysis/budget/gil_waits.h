// SPDX-License-Identifier: Apache-2.0
// Waiting for Python's global interpreter lock, where a trace has rows of it (tools that probe
// take_gil write such; PyTorch's profiler does not), on the threads that launch work.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepscope/analysis/budget/time_budget.h"

namespace stepscope {

struct GilWaits {
  std::uint64_t count = 0;
  Ns total{};  // each instant of a thread once
  Ns idle{};   // of it, while the device had nothing to do and that thread was to launch next
  Ns worst_at{};
  Ns worst{};  // the longest single row
};

// Whether a host row is a thread waiting for the lock.
[[nodiscard]] bool is_gil_wait(std::string_view name);

// Rows that begin in a step's annotation. `budget`: the rank's own of those steps.
[[nodiscard]] GilWaits gil_waits(const Trace& trace, const RankIndex& rank,
                                 std::span<const Step> steps, const DeviceBudget& budget);

}  // namespace stepscope

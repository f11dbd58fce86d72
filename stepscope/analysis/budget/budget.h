// SPDX-License-Identifier: Apache-2.0
// The categories of a step's time, and a budget in these categories (time_budget.h).
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/event/trace.h"

namespace stepscope {

enum class BudgetCategory : std::uint8_t {
  compute,
  comm_overlapped,
  comm_exposed_wait,
  comm_exposed_transfer,
  comm_exposed_unsplit,
  copy_exposed,
  idle_data,
  idle_host,
  idle_sync,
  idle_launch,
  idle_dependency,
  idle_unexplained,
  not_recorded,
};
inline constexpr auto budget_category_names = enum_names<BudgetCategory::not_recorded>;
inline constexpr std::size_t budget_category_count = budget_category_names.size();
// Also what is not recorded: no row of work.
constexpr bool is_idle(BudgetCategory c) { return c >= BudgetCategory::idle_data; }

struct Budget {
  std::array<Ns, budget_category_count> time{};

  Ns& operator[](BudgetCategory c) { return time[static_cast<std::size_t>(c)]; }
  const Ns& operator[](BudgetCategory c) const { return time[static_cast<std::size_t>(c)]; }
  [[nodiscard]] Ns sum() const { return std::accumulate(time.begin(), time.end(), Ns{}); }
  Budget& operator+=(const Budget& other) {
    for (std::size_t c = 0; c < budget_category_count; ++c) time[c] += other.time[c];
    return *this;
  }
};

// A stretch of time in which a device had no work, with one cause. Pieces are in time order and
// clipped to the steps.
struct IdlePiece {
  Ns start{};
  Ns end{};
  SliceId delayed = no_slice;   // the device operation that ended the gap; none at the end of the
                                // trace or on a CPU
  SliceId culprit = no_slice;   // the data loader's row, the sync call or the awaited operation
  std::uint32_t host = no_row;  // index of the host track that explains the gap
  std::uint32_t step = 0;       // index into `steps`
  BudgetCategory cause = BudgetCategory::idle_unexplained;
};

struct DeviceBudget {
  int device = -1;              // -1: the main thread of a CPU-only trace
  std::vector<Budget> steps{};  // parallel to the given steps
  std::vector<IdlePiece> idle{};
};

struct TimeBudget {
  std::vector<DeviceBudget> devices;  // not empty if there are steps
  std::size_t chosen = 0;             // index of the device whose budget is the rank's
  Budget total;                       // of the chosen device, summed over its steps

  [[nodiscard]] const DeviceBudget& rank() const { return devices[chosen]; }
};

// A stretch of time in one category.
struct BudgetPiece {
  Ns start{};
  Ns end{};
  BudgetCategory category = BudgetCategory::idle_unexplained;
  std::uint32_t step = 0;  // index into `steps`
};

// Appends a piece, or lengthens the last one if it goes on.
inline void append_piece(std::vector<BudgetPiece>& pieces, const BudgetPiece& piece) {
  if (!pieces.empty() && pieces.back().end == piece.start && pieces.back().step == piece.step &&
      pieces.back().category == piece.category)
    pieces.back().end = piece.end;
  else
    pieces.push_back(piece);
}

}  // namespace stepscope

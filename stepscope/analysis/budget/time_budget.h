// SPDX-License-Identifier: Apache-2.0
// The time budget of one rank (DESIGN: "Time budget"): every nanosecond of every step in exactly
// one category. The categories of a step sum to its wall time as integers; a sum that does not is a
// failed check().
//
// A rank with several GPUs has a budget for each; the rank's own is that of the GPU with the most
// work, because a union over GPUs would hide that one of them waits.
//
// A CPU-only trace: on the main thread compute = operators (namespace::name) with all that they
// call, and rows of other names that call nothing; likewise on the threads of the backward graph,
// while main computes nothing. Communication = a collective in flight on another thread, or main
// inside a communication operator. What runs inside a data loader is data. The rest is idle_host: a
// trace of operators does not show what Python does between them. Where kernels were launched and
// none was recorded (RankIndex::device_unseen), all but data loading and synchronising calls is
// idle_unexplained.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
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
};
inline constexpr std::size_t budget_category_count = 12;
inline constexpr std::array<std::string_view, budget_category_count> budget_category_names = {
    "compute",
    "comm_overlapped",
    "comm_exposed_wait",
    "comm_exposed_transfer",
    "comm_exposed_unsplit",
    "copy_exposed",
    "idle_data",
    "idle_host",
    "idle_sync",
    "idle_launch",
    "idle_dependency",
    "idle_unexplained"};
static_assert(budget_category_names[static_cast<std::size_t>(BudgetCategory::idle_unexplained)] ==
              "idle_unexplained");
constexpr bool is_idle(BudgetCategory c) { return c >= BudgetCategory::idle_data; }

struct Budget {
  std::array<Ns, budget_category_count> time{};

  Ns& operator[](BudgetCategory c) { return time[static_cast<std::size_t>(c)]; }
  const Ns& operator[](BudgetCategory c) const { return time[static_cast<std::size_t>(c)]; }
  [[nodiscard]] Ns sum() const;
  Budget& operator+=(const Budget& other);
};

// A piece of time in which a device had no work, with one cause. In time order, clipped to the
// steps.
struct IdlePiece {
  Ns start{};
  Ns end{};
  SliceId delayed = no_slice;   // the device operation that ended the gap; none at the end of the
                                // trace or on a CPU
  SliceId culprit = no_slice;   // the data loader's row, the sync call, the operation waited for
  std::uint32_t host = no_row;  // index of the host track that was looked at
  std::uint32_t step = 0;       // place in `steps`
  BudgetCategory cause = BudgetCategory::idle_unexplained;
};

struct DeviceBudget {
  int device = -1;            // -1: the main thread of a CPU-only trace
  std::vector<Budget> steps;  // parallel to the steps given
  std::vector<IdlePiece> idle;
};

struct TimeBudget {
  std::vector<DeviceBudget> devices;  // never empty where there are steps
  std::size_t chosen = 0;             // which of them is the rank's
  Budget total;                       // of the chosen one, over its steps

  [[nodiscard]] const DeviceBudget& rank() const { return devices[chosen]; }
};

[[nodiscard]] TimeBudget time_budget(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps, const CommSplit& split = {});

// A stretch of one category.
struct BudgetPiece {
  Ns start{};
  Ns end{};
  BudgetCategory category = BudgetCategory::idle_unexplained;
  std::uint32_t step = 0;  // place in `steps`
};

// What a device of the budget did when: pieces in time order that tile the steps, neighbours of one
// category as one. By category they sum to its budget. The arguments are those it was made with.
[[nodiscard]] std::vector<BudgetPiece> budget_pieces(const Trace& trace, const RankIndex& rank,
                                                     std::span<const Step> steps,
                                                     const CommSplit& split,
                                                     const DeviceBudget& device);

}  // namespace stepscope

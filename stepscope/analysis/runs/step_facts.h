// SPDX-License-Identifier: Apache-2.0
// The few figures of a run that show if it is worth a closer look.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Means over the steps of one rank that are accounted for, in ns per step.
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
  std::string mfu_convention{};        // how its model FLOPs are counted; empty without MFU
  bool arrivals_known = false;         // true if a straggler could have been found
  std::string why_arrivals_unknown{};  // empty: ranks or comparable clocks are missing
  std::optional<Bytes> headroom{};     // of the fullest device
  std::optional<Bytes> capacity{};     // of that device
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

// Which kinds of rows the recording of a job has. What is concluded needs some of them
// (diagnose/needs.h).

enum class Fact : std::uint8_t {
  rows,          // any row
  steps,         // annotations that mark steps
  device_rows,   // what the launches ran; without a device: nothing was launched
  launches,      // the calls that launched the device rows; without a device: nothing was launched
  operators,     // operators or annotations of the host
  shapes,        // of the operators' inputs
  stream_waits,  // waits of one stream for another; only CUDA's profiler writes them
  memory,        // events of the allocator
  ranks,         // two ranks or more
  clocks,        // that can be compared between the ranks
};
inline constexpr std::size_t fact_count = 10;
inline constexpr std::array<std::string_view, fact_count> fact_names = {
    "rows",   "steps",        "device_rows", "launches", "operators",
    "shapes", "stream_waits", "memory",      "ranks",    "clocks"};
static_assert(fact_names[static_cast<std::size_t>(Fact::clocks)] == "clocks");
using Facts = std::array<bool, fact_count>;

[[nodiscard]] constexpr bool has(const Facts& facts, Fact f) {
  return facts[static_cast<std::size_t>(f)];
}

// Launches are not known if a larger share of the device rows has no launch.
inline constexpr double most_loose_rows = 0.5;

// One rank that has the rows is enough for most facts; device_rows and launches must be there on
// each rank, all but most_lost_launches and most_loose_rows of them.
[[nodiscard]] Facts recorded_facts(const JobResult& job);

// The share of a rank's launches that has no device row, in the steps that are accounted for.
[[nodiscard]] double lost_share(const RankResult& rank);

}  // namespace stepscope

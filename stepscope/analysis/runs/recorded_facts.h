// SPDX-License-Identifier: Apache-2.0
// Which kinds of rows the recording of a job has. What is concluded needs some of them
// (diagnose/needs.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

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

// Launches are not known where more of the device rows have none.
inline constexpr double most_loose_rows = 0.5;

// One rank that has the rows is enough for most facts; device_rows and launches must be there on
// each rank, all but most_lost_launches and most_loose_rows of them.
[[nodiscard]] Facts recorded_facts(const JobResult& job);

// The share of a rank's launches that has no device row, in the steps that are accounted for.
[[nodiscard]] double lost_share(const RankResult& rank);

}  // namespace stepscope

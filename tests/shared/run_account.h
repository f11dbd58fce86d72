// SPDX-License-Identifier: Apache-2.0
// Checks from the JSON alone that the answer to a run adds up, and makes the table of all runs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/shared/shared_data.h"

namespace stepscope::shared {

struct RunAccount {
  std::string name;
  std::size_t ranks = 0;
  std::uint64_t events = 0;
  std::size_t steps = 0;  // of the rank with most steps
  std::size_t warnings = 0;
  double seconds = 0;              // of the whole process
  double unexplained_percent = 0;  // idle_unexplained over the wall time of the worst rank
  std::string unexplained_why;     // a known reason for more than 5 %
  bool launches_seen = false;      // every rank has device work and launch rows
  std::vector<std::string> problems;
};

// Runs the program on it. Checks: exit code 0; for each rank and step the budget and the phases sum
// to the wall time; steps and the time outside them sum to the rank's window, which is the raw
// file's; busy and idle sum to the GPU's window; the kernel table is consistent; at most 5 % of a
// rank's wall time is unexplained, or a known reason exists.
[[nodiscard]] RunAccount account_for(const TracedRun& run);

// The inconsistencies of one rank in the JSON.
[[nodiscard]] std::vector<std::string> rank_problems(const nlohmann::json& rank,
                                                     std::int64_t counted);

// Markdown.
[[nodiscard]] std::string runs_table(const std::vector<RunAccount>& accounts);

}  // namespace stepscope::shared

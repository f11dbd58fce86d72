// SPDX-License-Identifier: Apache-2.0
// Whether the answer to one run adds up, checked from its JSON alone, and the table of all runs.
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
  std::size_t steps = 0;  // of the rank that has most
  std::size_t warnings = 0;
  double seconds = 0;              // of the whole process
  double unexplained_percent = 0;  // idle_unexplained of the wall time of the worst rank
  std::string unexplained_why;     // a known reason why that is above 5 %
  bool launches_seen = false;      // device work and launch rows in every rank
  std::vector<std::string> problems;
};

// Runs the program on it. Held: exit code 0; for each rank and step the budget and the phases sum
// to the wall time; steps and what lies outside them to the rank's window, and that window is the
// raw file's; busy and idle to the GPU's window; the kernel table is in itself consistent; at most
// 5 % of a rank's wall time unexplained, or a known reason why.
[[nodiscard]] RunAccount account_for(const TracedRun& run);

// Of one rank of the JSON: what does not add up.
[[nodiscard]] std::vector<std::string> rank_problems(const nlohmann::json& rank);

// Markdown.
[[nodiscard]] std::string runs_table(const std::vector<RunAccount>& accounts);

}  // namespace stepscope::shared

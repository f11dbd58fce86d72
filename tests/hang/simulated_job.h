// SPDX-License-Identifier: Apache-2.0
// A job of eight ranks that stops, as its ranks would record it. Every rank makes the same calls in
// groups of all, of four and of two. One rank fails once, and all others run on until they wait for
// another rank. It is written as dumps of flight recorders or as logs of NCCL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stepscope::hang {

enum class Fault : std::uint8_t {
  none,
  missing,   // stops before a call
  behind,    // makes all calls but the last
  order,     // swaps two calls
  count,     // calls with another number of elements
  no_record  // stops and leaves no record
};

struct JobCall {
  std::size_t group = 0;
  std::string operation;
  std::int64_t count = 0;
};

struct RankCalls {
  std::vector<JobCall> calls;  // recorded calls
  std::size_t done = 0;        // completed calls; the next one is started, the others scheduled
};

struct SimulatedJob {
  std::vector<std::vector<int>> groups;  // index 0 is all ranks
  std::vector<RankCalls> ranks;
  Fault fault = Fault::none;
  int rank = -1;             // the faulty rank
  std::size_t group = 0;     // group of the fault
  std::int64_t ordinal = 0;  // number of the call in its group, from 0
  std::string operation;     // the call of the other ranks
};

[[nodiscard]] SimulatedJob simulate(Fault fault, std::uint64_t seed);

// PREFIX<rank> for each rank with a record: pickles, or JSON for every second rank.
void write_dumps(const SimulatedJob& job, const std::filesystem::path& folder, bool some_json);
// One file with all ranks' lines, in an order that keeps each rank's own. Other lines are in
// between, with colours, and some lines are cut by others.
void write_log(const SimulatedJob& job, const std::filesystem::path& file, std::uint64_t seed);

}  // namespace stepscope::hang

// SPDX-License-Identifier: Apache-2.0
// A job of eight ranks that stops, as its ranks would have recorded it: every rank makes the same
// calls in groups of all, of four and of two, one rank goes wrong once, and everybody runs on until
// it waits for someone. Written as dumps of flight recorders or as logs of NCCL.
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
  order,     // two calls the other way round
  count,     // another number of elements
  no_record  // stops, and leaves nothing
};

struct JobCall {
  std::size_t group = 0;
  std::string operation;
  std::int64_t count = 0;
};

struct RankCalls {
  std::vector<JobCall> calls;  // that it recorded
  std::size_t done = 0;        // of them completed; the next is started, the others scheduled
};

struct SimulatedJob {
  std::vector<std::vector<int>> groups;  // 0 is all
  std::vector<RankCalls> ranks;
  Fault fault = Fault::none;
  int rank = -1;             // that went wrong
  std::size_t group = 0;     // where
  std::int64_t ordinal = 0;  // of the call in its group, from 0
  std::string operation;     // that the others call there
};

[[nodiscard]] SimulatedJob simulate(Fault fault, std::uint64_t seed);

// PREFIX<rank> for each rank that leaves something: pickles, or every second one JSON.
void write_dumps(const SimulatedJob& job, const std::filesystem::path& folder, bool some_json);
// One file of all ranks' lines in some order that keeps each rank's, with lines of others between
// them, colours, and lines cut by others.
void write_log(const SimulatedJob& job, const std::filesystem::path& file, std::uint64_t seed);

}  // namespace stepscope::hang

// SPDX-License-Identifier: Apache-2.0
// A job's steps as one dependency graph with a lane for each step. In its replays each operation
// takes its recorded time, its ideal time or no time (StragglerAnalysis, arXiv 2505.05713):
//   start(o) = max over its predecessors of end + launch delay (0 in all replays but the host's)
//   end(o)   = start + duration; for communication: last start of its members + own transfer
// Ideal, per kind: the mean duration of compute, the median transfer of communication, over all
// steps, DP ranks and stages.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/graph/replay_graph.h"
#include "stepscope/analysis/job_table/job_layout.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

enum class Lasting : std::uint8_t { recorded, ideal, nothing };

struct JobReplay {
  std::size_t steps = 0;
  ReplayGraph graph;  // of all DP ranks in one step; the last node is the step's end
  // By cell (layout: DP rank * ops + op): node of its end, and node of its start if it transfers
  // with others (else the same node).
  std::vector<std::uint32_t> end_node;
  std::vector<std::uint32_t> start_node;
  std::vector<Ns> work;   // duration, or transfer, by cell * steps + step
  std::vector<Ns> delay;  // launch delay, likewise
  std::vector<JobOp> op;  // by cell
  std::array<Ns, job_op_count> ideal{};
  std::vector<Ns> measured;                    // by step: last end - first start
  std::map<std::string, std::uint64_t> notes;  // inconsistencies and repairs, with counts

  [[nodiscard]] std::size_t cells() const { return op.size(); }
};

// O(rows * log ops).
[[nodiscard]] JobReplay make_job_replay(const JobOperations& table, const JobLayout& layout);

// Scratch memory of a replay, for reuse.
struct ReplayRoom {
  std::vector<Ns> constant;
  std::vector<const Ns*> lanes;
  std::vector<Ns> end;
};

// The steps' times with the given `lasting` per cell, without launch delays.
[[nodiscard]] std::vector<Ns> step_times(const JobReplay& replay, std::span<const Lasting> lasting,
                                         ReplayRoom& room);
// The steps' times with the given `work` (by cell * steps + step), without launch delays.
[[nodiscard]] std::vector<Ns> step_times_of(const JobReplay& replay, std::span<const Ns> work);
// The steps' times as recorded, with the launch delays.
[[nodiscard]] std::vector<Ns> step_times_with_delays(const JobReplay& replay);

}  // namespace stepscope

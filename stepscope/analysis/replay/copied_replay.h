// SPDX-License-Identifier: Apache-2.0
// The steps of a job with more ranks than were recorded: the recorded ranks stand for others that
// do the same work. A copy of a rank is played by a rank of its role, always the same one, and each
// of its steps takes the times of one of that rank's recorded steps, piece by piece
// (peer_median.h). Which rank and which step follows from a hash, so a replay is repeatable. The
// first copy is the recorded ranks themselves.
//
// A collective over the copies begins when the last member of all copies has arrived. Therefore a
// step of many copies waits for the latest of many, as in a larger job. The transfer of such a
// collective takes the same time on all copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

struct CopiedJob {
  std::size_t copies = 1;      // of the recorded ranks, at least 1
  std::vector<bool> joined;    // by row of CollectiveMatches::groups: one collective of all copies
  std::vector<double> factor;  // by node: of its duration; delays stay. Empty: 1
  std::vector<double> repeat;  // by node: of its duration and its delay. Empty: 1
  std::vector<bool> left_out;  // by view: ranks that the job no longer has. Empty: none
  std::uint32_t draw = 0;      // another draw of ranks and steps
};

// The most ends of nodes that are kept at once.
inline constexpr std::size_t most_copied_nodes = std::size_t{1} << 27;

// The most copies that a graph with this number of nodes allows.
[[nodiscard]] std::size_t most_copies(const StepGraph& graph);

// The time of a step. REQUIRES: copies <= most_copies(); ranks are left out only of a graph with
// ends of steps (StepGraph::step_ends), not all of them.
[[nodiscard]] Ns copied_step(const WhatIfInputs& inputs, const StepPieces& pieces,
                             const CopiedJob& job);

}  // namespace stepscope

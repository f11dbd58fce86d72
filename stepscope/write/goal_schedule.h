// SPDX-License-Identifier: Apache-2.0
// Writes a job's program as a GOAL schedule, the text that LogGOPSim and ATLAHS read (Hoefler,
// Siebert, Lumsdaine 2009, "Group Operation Assembly Language"):
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 1200
//   l2: send 1024b to 1 tag 7
//   l2 requires l1
//   }
//
// calc is in nanoseconds. `cpu N` (0 where it is absent) is a core, which does one thing at a time:
// what ran in parallel with other work has a core of its own. Collectives become messages: a ring
// for all-reduce (2 (n − 1) rounds of S / n bytes), all-gather and reduce-scatter (n − 1 rounds), a
// message to each other rank for all-to-all, a chain for broadcasts and reductions, rounds of one
// byte for barriers. With `recorded_times` every message has one byte, and what the collective or
// message took follows it as a calc: a network without latency then replays the recorded step.
#pragma once

#include <string>

#include "stepscope/base/result.h"
#include "stepscope/write/job_program.h"

namespace stepscope {

struct GoalOptions {
  bool recorded_times = false;
};

[[nodiscard]] Result<Done> write_goal(const JobProgram& program, const std::string& path,
                                      const GoalOptions& options = {});

}  // namespace stepscope

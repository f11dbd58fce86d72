// SPDX-License-Identifier: Apache-2.0
// Checked steps, for tests.
#pragma once

#include <vector>

#include "stepscope/verbs/check/check.h"

namespace stepscope::test {

// Steps of 100 ns on all ranks but the last, whose steps take 108 ns.
inline CheckResult checked_ranks(int ranks, int steps) {
  CheckResult r{.version = "0", .input = "list.csv", .facts = {}};
  std::vector<NumberedStep> job;
  std::vector<RankOfStep> times;
  for (int s = 0; s < steps; ++s) {
    job.push_back({.number = s, .wall_ns = 108});
    for (int rank = 0; rank < ranks; ++rank)
      times.push_back({.rank = rank, .number = s, .wall_ns = rank == ranks - 1 ? 108.0 : 100.0});
  }
  r.times = step_times_by_rank(job, times, 0);
  return r;
}

}  // namespace stepscope::test

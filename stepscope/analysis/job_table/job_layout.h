// SPDX-License-Identifier: Apache-2.0
// The place of each operation of a job's table. Every step and DP rank should have the same list of
// operations. Those that differ from the most common list are left out and reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// One operation of a pipeline's step, for any step and DP rank.
struct LaidOp {
  JobOp op = JobOp::forward_compute;
  std::int32_t stage = 0;
  std::int32_t seq_id = 0;
};

struct JobLayout {
  std::vector<std::int64_t> steps;     // ascending
  std::vector<std::int32_t> dp_ranks;  // ascending
  int stages = 0;
  std::vector<LaidOp> ops;  // by stage, kind, seq_id
  // Rows of the table: ops[o] of DP rank d in step s is at (d * ops + o) * steps + s.
  std::vector<std::uint32_t> row;
  // Left-out parts, as sentences: DP ranks whose operations differ in most steps, then steps in
  // which one of the other ranks differs.
  std::vector<std::string> left_out;
  std::size_t steps_left_out = 0;
  std::size_t dp_ranks_left_out = 0;

  [[nodiscard]] std::size_t cells() const { return dp_ranks.size() * ops.size(); }
  [[nodiscard]] std::uint32_t row_of(std::size_t cell, std::size_t step) const {
    return row[cell * steps.size() + step];
  }
};

// Fails if no step is left, or if an operation appears twice in all of them. O(rows).
[[nodiscard]] Result<JobLayout> lay_out(const JobOperations& table);

}  // namespace stepscope

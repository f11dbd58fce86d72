// SPDX-License-Identifier: Apache-2.0
// Computation alone, communication alone, and both in one step, as an overlap measurement of three
// stopwatch figures prints or returns them:
//   Compute only: 15.00 ms         | Compute only | ~15 ms |     {"compute_only_ms": 15.0,
//   Comm only: 20.00 ms            | Comm only | ~20 ms |         "comm_only_ms": 20.0,
//   Actual total: 24.00 ms         | Actual total | ~24 ms |      "total_time_ms": 24.0, …}
// Each block is one step. Other lines are left out.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// Whether a whole block stands in `head`, the beginning of a file.
[[nodiscard]] bool begins_printed_overlap(std::string_view head);

// A table with compute_ns, comm_ns and step_ns, one line a block.
[[nodiscard]] std::string csv_of_printed_overlap(std::string_view text);

}  // namespace stepscope

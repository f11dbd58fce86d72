// SPDX-License-Identifier: Apache-2.0
// A job's table of operations as CSV. A header line names the columns of job_columns.h in any
// order; others are ignored. Then there is one row per operation. Cells may be quoted.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Whether the first (inflated) bytes of a file are the header of such a table.
[[nodiscard]] bool is_job_csv(std::string_view head);

// Unusable rows are counted: "not_a_number", "wrong_cell_count", "line_too_long", and the reasons
// of append_row. A text that ends early is marked truncated and its last line is dropped. Error: a
// column is missing. Reads in bounded windows.
[[nodiscard]] Result<JobOperations> read_job_csv(ByteSource& source, const std::string& path);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// A job's table of operations as CSV: a header line that names the columns of job_columns.h in any
// order (others are not looked at), then a row an operation. Cells may be quoted.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Whether a file's first (inflated) bytes are the header of such a table.
[[nodiscard]] bool is_job_csv(std::string_view head);

// Rows that cannot be used are counted: "not_a_number", "wrong_cell_count", "line_too_long", and
// append_row's. A text that ends early is marked truncated, its last line dropped. Fails where a
// column is missing. Reads in bounded windows.
[[nodiscard]] Result<JobOperations> read_job_csv(ByteSource& source, const std::string& path);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// A job's table of operations as a Parquet file, with the columns of job_columns.h.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Rows with an absent value are counted as "absent_value", others that cannot be used by
// append_row. Their byte is the file's size: rows have no place of their own.
[[nodiscard]] Result<JobOperations> read_job_parquet(std::string_view file,
                                                     const std::string& path);

}  // namespace stepscope

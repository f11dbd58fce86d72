// SPDX-License-Identifier: Apache-2.0
// A job's table of operations as a Parquet file, with the columns of job_columns.h.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Rows with an absent value are counted as "absent_value", other unusable rows as in append_row.
// Their byte is the file's size, because rows have no position of their own.
[[nodiscard]] Result<JobOperations> read_job_parquet(std::string_view file,
                                                     const std::string& path);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Lines that a user describes (line_pattern.h); read_job_log.cc reads them.
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {

const LogDialect pattern_log = {.tool = {.name = "pattern", .label = "lines of the given pattern"},
                                .how = "the step's time",
                                .is_tool = false};

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Steps from lines that count steps and the whole seconds since a begin, such as progress bars.
// Several bars follow each other, one an epoch, or one a launch.
//
// The moving mean that a bar prints holds its slow first step for about ten lines, so the time
// between two lines counts where it is long against a second. tqdm closes a bar with the mean since
// its begin (close() in tqdm/std.py).
#pragma once

#include "stepscope/event/job_log.h"
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {

// By the time between lines; of a bar that shows its last line only, by that line. Empty if no bar
// gives either.
[[nodiscard]] LogSteps steps_between_lines(const JobLog& log, const LogDialect& dialect,
                                           bool (*wanted)(const LogRecord&));
// The same, else the moving means that the bars print.
[[nodiscard]] LogSteps steps_of_bars(const JobLog& log, const LogDialect& dialect);

}  // namespace stepscope

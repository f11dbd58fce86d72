// SPDX-License-Identifier: Apache-2.0
// Reads logs of training jobs: those of the tools in log_dialect.h, of programs that print their
// step time, and of others by a pattern. Other output may be mixed in, from one rank or from many.
// A line is recognised by its words (docs/reference/inputs.md), even with colours, launchers'
// prefixes and other writers' letters around them. Truncated values are counted, never guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/step_reading.h"

namespace stepscope {

// Memory is bounded except for the result. A damaged end is marked as truncated. Errors: those of
// the source and of the pattern; no line reports on a step. That one offers a pattern, if lines
// look like steps.
[[nodiscard]] Result<JobLog> read_job_log(ByteSource& source, std::string_view path,
                                          const StepReading& reading = {},
                                          const StopFlag* stop = nullptr);
[[nodiscard]] Result<JobLog> read_job_log(const std::string& path, const StepReading& reading = {},
                                          const StopFlag* stop = nullptr);
[[nodiscard]] Result<JobLog> parse_job_log(std::string_view text, std::string_view path,
                                           const StepReading& reading = {});
// The error of a log that reports on a job and has no step time.
[[nodiscard]] Error no_step_time(const JobLog& log, const std::string& path);

// The steps of the most trusted tool in the log.
[[nodiscard]] LogSteps steps_of(const JobLog& log);

}  // namespace stepscope

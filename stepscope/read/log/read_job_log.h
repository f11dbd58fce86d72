// SPDX-License-Identifier: Apache-2.0
// Reads logs of training jobs: Megatron-LM, DeepSpeed, torchtitan, the Hugging Face Trainer,
// `stepscope train` and programs that print their step time. Other output may be mixed in, from one
// rank or from many. A line is recognised by its words (docs/reference/inputs.md), even with
// colours, launchers' prefixes and other writers' letters around them. Truncated values are
// counted, never guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// Memory is bounded except for the result. Step times without a unit are in `assumed`. A damaged
// end is marked as truncated. Errors: those of the source; no line reports on a step.
[[nodiscard]] Result<JobLog> read_job_log(ByteSource& source, std::string_view path,
                                          TimeUnit assumed = TimeUnit::ms,
                                          const StopFlag* stop = nullptr);
[[nodiscard]] Result<JobLog> read_job_log(const std::string& path, TimeUnit assumed = TimeUnit::ms,
                                          const StopFlag* stop = nullptr);
[[nodiscard]] Result<JobLog> parse_job_log(std::string_view text, std::string_view path,
                                           TimeUnit assumed = TimeUnit::ms);

// The steps of the most trusted tool in the log.
[[nodiscard]] LogSteps steps_of(const JobLog& log);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Logs of training jobs: what Megatron-LM, DeepSpeed, torchtitan, the Hugging Face Trainer,
// `stepscope train` and programs that name their step time wrote, among other output, of one rank
// or of many. Each line is recognised by the words in it (docs/reference/inputs.md), with colours,
// launchers' prefixes and other writers' letters around them; what was cut is counted, never
// guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// In bounded memory beside what it keeps; step times that name no unit are in `assumed`. A damaged
// end is marked as truncated. Errors: the source's; nothing in it reports on a step.
[[nodiscard]] Result<JobLog> read_job_log(ByteSource& source, std::string_view path,
                                          TimeUnit assumed = TimeUnit::ms);
[[nodiscard]] Result<JobLog> read_job_log(const std::string& path, TimeUnit assumed = TimeUnit::ms);
[[nodiscard]] Result<JobLog> parse_job_log(std::string_view text, std::string_view path,
                                           TimeUnit assumed = TimeUnit::ms);

// Whether a file that begins so is a trainer_state.json of the Hugging Face Trainer.
[[nodiscard]] bool is_trainer_state(std::string_view head);

// The steps of the most trusted tool in the log.
[[nodiscard]] LogSteps steps_of(const JobLog& log);

}  // namespace stepscope

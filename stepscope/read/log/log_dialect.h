// SPDX-License-Identifier: Apache-2.0
// The tools whose logs are read: one object a tool, in a file of its own. A new one is a file
// x_log.cc and a line of STEPSCOPE_LOG_DIALECTS. What the lines look like:
// docs/reference/inputs.md.
#pragma once

#include <span>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/log_line.h"

namespace stepscope {

// A word that lines of a tool hold, and who reads such a line. Of several words of one reader in a
// line the first counts.
struct LogWord {
  std::string_view word;
  TakeLine take;
};

struct LogDialect {
  LogTool tool;
  std::span<const LogWord> words;
  std::string_view how{};                          // where the times of its steps come from
  bool by_stamps = false;                          // they lie between the stamps of two lines
  bool means = false;                              // a record may be the mean of several steps
  LogSteps (*steps)(const JobLog& log) = nullptr;  // where `how` does not say it all
  void (*settle)(JobLog& log) = nullptr;           // after the last line
};

// Most trusted first: of a log that holds several, the first one's steps count.
#define STEPSCOPE_LOG_DIALECTS(DIALECT) \
  DIALECT(megatron_log)                 \
  DIALECT(nemo_log)                     \
  DIALECT(maxtext_log)                  \
  DIALECT(stepscope_log)                \
  DIALECT(program_log)                  \
  DIALECT(llmc_log)                     \
  DIALECT(nanogpt_log)                  \
  DIALECT(torchtitan_log)               \
  DIALECT(deepspeed_log)                \
  DIALECT(hugging_face_log)

#define STEPSCOPE_DECLARED(name) extern const LogDialect name;
STEPSCOPE_LOG_DIALECTS(STEPSCOPE_DECLARED)
#undef STEPSCOPE_DECLARED

[[nodiscard]] std::span<const LogDialect* const> log_dialects();

// The steps of records that are `wanted`, in the order they ran.
[[nodiscard]] LogSteps place_steps(const JobLog& log, const LogDialect& dialect, bool by_stamps,
                                   std::string_view how, bool (*wanted)(const LogRecord&));

// trainer_state.json. Error: no log_history in it.
[[nodiscard]] Result<Done> take_trainer_state(std::string_view text, std::string_view path,
                                              JobLog& log);

}  // namespace stepscope

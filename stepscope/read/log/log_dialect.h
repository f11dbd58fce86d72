// SPDX-License-Identifier: Apache-2.0
// The tools whose logs are read, one object per tool in a file of its own. To add one, write
// x_log.cc (prime_rl_log.cc is short) and add a line to STEPSCOPE_LOG_DIALECTS.
// docs/reference/inputs.md shows the lines of each tool.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/job_log.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/log_pattern.h"

namespace stepscope {

// A word in lines of a tool, and the function that reads such a line. If a line has several words
// of one function, the first counts.
struct LogWord {
  std::string_view word;
  TakeLine take;
};

struct LogDialect {
  LogTool tool;
  std::span<const LogWord> words{};        // lines that a function reads
  std::span<const LogPattern> patterns{};  // lines that a table describes
  // Source of the times that its lines print. Without any they are differences of time stamps, else
  // of the time since the begin.
  std::string_view how{};
  bool is_tool = true;                             // false: lines of any program
  bool means = false;                              // a record may be the mean of several steps
  std::string_view whole_step{};                   // remedy where a log has timers only
  LogSteps (*steps)(const JobLog& log) = nullptr;  // used if `how` is not enough
  void (*settle)(JobLog& log) = nullptr;           // after the last line
};

// Most trusted first. If a log has steps of several tools, the first one's count.
#define STEPSCOPE_LOG_DIALECTS(DIALECT) \
  DIALECT(pattern_log)                  \
  DIALECT(megatron_log)                 \
  DIALECT(primus_log)                   \
  DIALECT(nemo_log)                     \
  DIALECT(mlperf_log)                   \
  DIALECT(maxtext_log)                  \
  DIALECT(stepscope_log)                \
  DIALECT(nanotron_log)                 \
  DIALECT(prime_rl_log)                 \
  DIALECT(prime_rl_orchestrator_log)    \
  DIALECT(verl_log)                     \
  DIALECT(colossal_ai_log)              \
  DIALECT(pith_train_log)               \
  DIALECT(easydel_log)                  \
  DIALECT(espnet_log)                   \
  DIALECT(mmengine_log)                 \
  DIALECT(detectron2_log)               \
  DIALECT(maskrcnn_benchmark_log)       \
  DIALECT(paddle_vision_log)            \
  DIALECT(basicsr_log)                  \
  DIALECT(py_slow_fast_log)             \
  DIALECT(hugectr_log)                  \
  DIALECT(tf_cnn_benchmarks_log)        \
  DIALECT(timm_log)                     \
  DIALECT(metric_logger_log)            \
  DIALECT(program_log)                  \
  DIALECT(json_lines_log)               \
  DIALECT(llmc_log)                     \
  DIALECT(nanogpt_log)                  \
  DIALECT(nanochat_log)                 \
  DIALECT(modded_nanogpt_log)           \
  DIALECT(fairseq_log)                  \
  DIALECT(olmo_log)                     \
  DIALECT(composer_log)                 \
  DIALECT(torchtitan_log)               \
  DIALECT(internlm_log)                 \
  DIALECT(paddle_nlp_log)               \
  DIALECT(deepspeed_log)                \
  DIALECT(hugging_face_log)             \
  DIALECT(lightning_log)                \
  DIALECT(levanter_log)                 \
  DIALECT(keras_log)                    \
  DIALECT(progress_bar_log)             \
  DIALECT(torchtune_log)                \
  DIALECT(deepspeed_timers)

#define STEPSCOPE_DECLARED(name) extern const LogDialect name;
STEPSCOPE_LOG_DIALECTS(STEPSCOPE_DECLARED)
#undef STEPSCOPE_DECLARED

[[nodiscard]] std::span<const LogDialect* const> log_dialects();

// What gives the time of a step: its line, or the difference of two lines' time stamps or times
// since the begin; or, without any time, the rate of a device, which gives that of a token.
// `each_stamp`: lines without a number report on one step each.
enum class StepsBy : std::uint8_t { lines, stamps, each_stamp, elapsed, rates };

// The steps of the `wanted` records, in the order they ran.
[[nodiscard]] LogSteps place_steps(const JobLog& log, const LogDialect& dialect, StepsBy by,
                                   std::string_view how, bool (*wanted)(const LogRecord&));
inline constexpr std::string_view by_stamps = "time stamps of its lines";

// trainer_state.json of the Hugging Face Trainer: whether a file with these first bytes is one, and
// its records. Error: it has no log_history.
[[nodiscard]] bool is_trainer_state(std::string_view head);
[[nodiscard]] Result<Done> take_trainer_state(ByteSource& source, std::string_view path,
                                              JobLog& log);

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "step:3 - actor/pg_loss:0.01 - perf/mfu/actor:0.382 - timing_s/gen:47.4 - timing_s/step:94.8 -
// …": concat_dict_to_str in verl/utils/logger/aggregate_logger.py. Values of numpy print their
// type. The names are those of compute_timing_metrics and compute_throughout_metrics in
// verl/trainer/ppo/metric_utils.py: the throughput is that of one device.
constexpr std::array<LogField, 6> verl_fields = {{
    {"timing_s/step:", &LogRecord::wall_ns, 1e9},
    {"train/loss:", &LogRecord::loss},
    {"actor/pg_loss:", &LogRecord::loss},
    {"perf/throughput:", &LogRecord::tokens_per_s_device},
    {"perf/mfu/actor:", &LogRecord::mfu},
    {"perf/max_memory_allocated_gb:", &LogRecord::memory_bytes, gib_bytes},
}};
// Its SFT trainer: "step:1 - train/loss:0.72 - train/lr(1e-3):0.0096 - train/time(s):2.81"
// (verl/trainer/fsdp_sft_trainer.py).
constexpr std::array<LogField, 3> verl_sft_fields = {{
    {"train/time(s):", &LogRecord::wall_ns, 1e9},
    {"train/loss:", &LogRecord::loss},
    {"train/mfu:", &LogRecord::mfu},
}};
constexpr std::array verl_patterns = {LogPattern{.word = "timing_s/step:",
                                                 .step = "step:",
                                                 .fields = verl_fields,
                                                 .ends = " )",
                                                 .behind_step = " - ",
                                                 .step_in_line = true,
                                                 .timers = "timing_s/"},
                                      LogPattern{.word = "train/time(s):",
                                                 .step = "step:",
                                                 .fields = verl_sft_fields,
                                                 .ends = " )",
                                                 .behind_step = " - ",
                                                 .step_in_line = true}};

}  // namespace

const LogDialect verl_log = {.tool = {.name = "verl", .label = "verl"},
                             .patterns = verl_patterns,
                             .how = "timing_s/step or train/time(s)"};

}  // namespace stepscope

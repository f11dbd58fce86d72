// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "{'train': {'loss': 2.31, …, 'train_step': 10, …}, 'performance': {'execution_time': 1.21, …,
// 'train_step_time': 1.253, 'tflops': …, 'throughput': …}}": StepMetrics.calculate and
// _format_metrics_log in easydel/trainers/metrics.py; `throughput` and `tflops` are of the job.
constexpr std::array<LogField, 4> easydel_fields = {{
    {"'train_step_time': ", &LogRecord::wall_ns, 1e9},
    {"'loss': ", &LogRecord::loss, 1, LogPlace::in_line},
    {"'throughput': ", &LogRecord::tokens_per_s},
    {"'execution_time': ", nullptr, 1e3},
}};
constexpr std::array easydel_patterns = {LogPattern{.word = "'train_step_time': ",
                                                    .step = "'train_step': ",
                                                    .fields = easydel_fields,
                                                    .ends = " ,}"}};

}  // namespace

const LogDialect easydel_log = {.tool = {.name = "easydel", .label = "EasyDeL"},
                                .patterns = easydel_patterns,
                                .how = "train_step_time"};

}  // namespace stepscope

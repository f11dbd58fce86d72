// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "maskrcnn_benchmark.trainer INFO: eta: 4:58:35  iter: 40  loss: 1.4253 (2.3632)  …
// time: 0.2928 (0.4483)  data: 0.0027 (0.0475)  lr: 0.004000  max mem: 8472" (do_train in
// maskrcnn_benchmark/engine/trainer.py). The numbers are medians of the last 20 steps, those in
// brackets means since the begin.
constexpr std::array<LogField, 4> maskrcnn_fields = {{
    {"  time: ", &LogRecord::wall_ns, 1e9},
    {"  loss: ", &LogRecord::loss},
    {"  data: ", nullptr, 1e3},
    {"  max mem: ", &LogRecord::memory_bytes, mib_bytes},
}};
constexpr std::array maskrcnn_patterns = {LogPattern{.word = "maskrcnn_benchmark.trainer",
                                                     .step = "iter: ",
                                                     .fields = maskrcnn_fields,
                                                     .ends = " ",
                                                     .shared = true}};

}  // namespace

const LogDialect maskrcnn_benchmark_log = {
    .tool = {.name = "maskrcnn_benchmark", .label = "maskrcnn-benchmark"},
    .patterns = maskrcnn_patterns,
    .how = "time, the median of 20 steps"};

}  // namespace stepscope

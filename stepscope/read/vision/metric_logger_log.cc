// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "Epoch: [0]  [  10/3065]  eta: 0:34:19  lr: 0.000010  loss: 1.6727 (1.6722)  time: 0.6740  data:
// 0.3446  max mem: 8010": log_every of MetricLogger, which torchvision's references
// (references/classification/utils.py), DETR, DeiT, MAE and many more programs share. `time` is the
// mean of the last 20 steps.
constexpr std::array<LogField, 4> metric_logger_fields = {{
    {"  time: ", &LogRecord::wall_ns, 1e9},
    {"  loss: ", &LogRecord::loss},
    {"  data: ", nullptr, 1e3},
    {"  max mem: ", &LogRecord::memory_bytes, mib_bytes},
}};
constexpr std::array metric_logger_patterns = {LogPattern{.word = "  data: ",
                                                          .step = "]  [",
                                                          .epoch = "poch: [",
                                                          .fields = metric_logger_fields,
                                                          .ends = " ",
                                                          .behind_step = "/",
                                                          .shared = true}};

}  // namespace

const LogDialect metric_logger_log = {
    .tool = {.name = "metric_logger", .label = "MetricLogger of torchvision's references"},
    .patterns = metric_logger_patterns,
    .how = "time, the mean of 20 steps"};

}  // namespace stepscope

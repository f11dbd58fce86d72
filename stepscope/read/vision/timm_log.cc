// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "Train: 0 [  50/10009 (  0%)]  Loss:  6.927876 (6.9180)  Time: 1.462s,   87.53/s  (1.896s,
// 67.51/s)  LR: 1.000e-06  Data: 0.026 (0.199)" (train_one_epoch in timm's train.py). The first
// number of each pair is that of the last update, the second the mean of the epoch.
constexpr std::array<LogField, 4> timm_fields = {{
    {"Time: ", &LogRecord::wall_ns, 1e9, LogPlace::behind, "s,"},
    {"Loss: ", &LogRecord::loss},
    {"s, ", &LogRecord::samples_per_s, 1, LogPlace::behind, "/s"},
    {"Data: ", nullptr, 1e3},
}};
constexpr std::array timm_patterns = {LogPattern{.word = "%)]  Loss: ",
                                                 .step = " [",
                                                 .epoch = "Train: ",
                                                 .fields = timm_fields,
                                                 .ends = " ",
                                                 .behind_step = "/",
                                                 .shared = true}};

}  // namespace

const LogDialect timm_log = {.tool = {.name = "timm", .label = "timm"},
                             .patterns = timm_patterns,
                             .how = "the time of the last update"};

}  // namespace stepscope

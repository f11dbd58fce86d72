// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "Training epoch 0, iteration 4/999 | global_batch_size: 32 | global_step: 4 | … |
// train_step_timing in s: 7.633", or "global_step=4.000, train_step_timing in s=7.710]" of a
// progress bar.
constexpr std::array<LogField, 3> nemo_fields = {{
    {"train_step_timing in s", &LogRecord::wall_ns, 1e9},
    {"reduced_train_loss", &LogRecord::loss},
    {"global_batch_size", &LogRecord::batch, 1, LogPlace::in_line},
}};
constexpr std::array nemo_patterns = {LogPattern{.word = "train_step_timing in s",
                                                 .step = "global_step",
                                                 .fields = nemo_fields,
                                                 .ends = " ,|]"}};

}  // namespace

const LogDialect nemo_log = {.tool = {.name = "nemo", .label = "NeMo"},
                             .patterns = nemo_patterns,
                             .how = "train_step_timing"};

}  // namespace stepscope

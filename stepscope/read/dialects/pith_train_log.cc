// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "step 00000012/00001000 | step-time 3.412 sec | cross-entropy-loss 8.1203 | … | tokens-per-second
// 153,662 | peak-gpu-memory 61.20 GB": train_step in pithtrain/tasks/pretrain_lm.py.
constexpr std::array<LogField, 4> pith_train_fields = {{
    {"| step-time ", &LogRecord::wall_ns, 1e9, LogPlace::behind, " sec"},
    {"| cross-entropy-loss ", &LogRecord::loss},
    {"| tokens-per-second ", &LogRecord::tokens_per_s},
    {"| peak-gpu-memory ", &LogRecord::memory_bytes, gib_bytes},
}};
constexpr std::array pith_train_patterns = {LogPattern{.word = "| step-time ",
                                                       .step = "step ",
                                                       .fields = pith_train_fields,
                                                       .ends = " |",
                                                       .behind_step = "/",
                                                       .shared = true}};

}  // namespace

const LogDialect pith_train_log = {.tool = {.name = "pith_train", .label = "PithTrain"},
                                   .patterns = pith_train_patterns,
                                   .how = "step-time"};

}  // namespace stepscope

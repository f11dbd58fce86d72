// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "step    10 | loss: 9.512345 | lr 6.0000e-04 | norm: 1.21 | dt: 340.51ms | tok/sec: 1539211.02"
// of build-nanogpt (train_gpt2.py); "step 00010/21400 (0.05%) | loss: 5.131 | … | dt: 1204.51ms |
// tok/sec: 435,121 | mfu: 48.10 | …" of nanochat (scripts/base_train.py).
constexpr std::array<LogField, 4> nanochat_fields = {{
    {"| dt: ", &LogRecord::wall_ns, 1e6, LogPlace::behind, "ms"},
    {"| loss: ", &LogRecord::loss},
    {"| tok/sec: ", &LogRecord::tokens_per_s},
    {"mfu: ", &LogRecord::mfu, percent},
}};
constexpr std::array nanochat_patterns = {LogPattern{
    .word = "| dt: ", .step = "step ", .fields = nanochat_fields, .ends = " |", .shared = true}};

}  // namespace

const LogDialect nanochat_log = {.tool = {.name = "nanochat", .label = "nanochat, build-nanogpt"},
                                 .patterns = nanochat_patterns,
                                 .how = "dt"};

}  // namespace stepscope

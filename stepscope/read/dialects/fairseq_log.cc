// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "… | INFO | train_inner | epoch 001:    100 / 487 loss=4.655, …, wps=35120, ups=1.02, …,
// num_updates=100, …, train_wall=97, wall=103", and as JSON (SimpleProgressBar and JsonProgressBar
// in fairseq/logging/progress_bar.py; ups counts updates per second since the last such line).
constexpr std::array<LogField, 3> fairseq_fields = {{
    {" ups=", &LogRecord::wall_ns, per_second},
    {" loss=", &LogRecord::loss},
    {" wps=", &LogRecord::tokens_per_s},
}};
constexpr std::array<LogField, 3> fairseq_json_fields = {{
    {"\"ups\": \"", &LogRecord::wall_ns, per_second},
    {"\"loss\": \"", &LogRecord::loss},
    {"\"wps\": \"", &LogRecord::tokens_per_s},
}};
constexpr std::array fairseq_patterns = {LogPattern{.word = ", ups=",
                                                    .step = "num_updates=",
                                                    .fields = fairseq_fields,
                                                    .ends = " ,",
                                                    .step_in_line = true,
                                                    .stamped = true},
                                         LogPattern{.word = "\"ups\": \"",
                                                    .step = "\"num_updates\": \"",
                                                    .fields = fairseq_json_fields,
                                                    .ends = "\"",
                                                    .step_in_line = true,
                                                    .stamped = true}};

}  // namespace

const LogDialect fairseq_log = {.tool = {.name = "fairseq", .label = "fairseq"},
                                .patterns = fairseq_patterns,
                                .how = "1 / ups",
                                .means = true};

}  // namespace stepscope

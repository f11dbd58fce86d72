// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "Step 3 | loss:1.4386 lr:2e-05 tokens_per_second_per_gpu:12025.3 peak_memory_active:24.15 …":
// log_dict in torchtune/training/metric_logging.py. No time of a step is printed; memory is in GiB.
constexpr std::array<LogField, 3> torchtune_fields = {{
    {"tokens_per_second_per_gpu:", &LogRecord::tokens_per_s_device},
    {"loss:", &LogRecord::loss},
    {"peak_memory_reserved:", &LogRecord::memory_bytes, gib_bytes},
}};
constexpr std::array torchtune_patterns = {LogPattern{.word = "tokens_per_second_per_gpu:",
                                                      .step = "Step ",
                                                      .fields = torchtune_fields,
                                                      .ends = " ",
                                                      .behind_step = " | ",
                                                      .shared = true}};

}  // namespace

const LogDialect torchtune_log = {.tool = {.name = "torchtune", .label = "torchtune"},
                                  .patterns = torchtune_patterns};

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "[INFO|DP=0|PP=0|TP=0]: iteration: 1 / 15 | consumed_tokens: 512 | elapsed_time_per_iteration_ms:
// 4.71K | tokens_per_sec: 109 | …": three digits and a letter of SI (human_format in
// nanotron/logging.py, LogItems in nanotron/trainer.py).
constexpr std::array<LogField, 6> nanotron_fields = {{
    {"elapsed_time_per_iteration_ms: ", &LogRecord::wall_ns, 1e6},
    {"| lm_loss: ", &LogRecord::loss},
    {"| tokens_per_sec: ", &LogRecord::tokens_per_s},
    {"tokens_per_sec_per_gpu: ", &LogRecord::tokens_per_s_device},
    {"| global_batch_size: ", &LogRecord::batch},
    {"model_tflops_per_gpu: ", &LogRecord::flops_per_s, 1e12},
}};
constexpr std::array nanotron_patterns = {LogPattern{.word = "elapsed_time_per_iteration_ms: ",
                                                     .step = "iteration: ",
                                                     .fields = nanotron_fields,
                                                     .letters = true}};

}  // namespace

const LogDialect nanotron_log = {
    .tool = {.name = "nanotron", .label = "nanotron", .rate_name = "model_tflops_per_gpu"},
    .patterns = nanotron_patterns,
    .how = "elapsed_time_per_iteration_ms"};

}  // namespace stepscope

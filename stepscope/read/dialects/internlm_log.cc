// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "… -- tflops=189.8,step=1,loss=11.61,tgs (tokens/gpu/second)=4274.45,…,fwd_bwd_time=3.67"; later
// versions separate by blanks (record_current_batch_training_metrics in
// internlm/train/pipeline.py).
constexpr std::array<LogField, 4> internlm_fields = {{
    {"tgs (tokens/gpu/second)=", &LogRecord::tokens_per_s_device},
    {"loss=", &LogRecord::loss},
    {"tflops=", &LogRecord::flops_per_s, 1e12, LogPlace::in_line},
    {"fwd_bwd_time=", nullptr, 1e3},
}};
constexpr std::array internlm_patterns = {LogPattern{.word = "tgs (tokens/gpu/second)=",
                                                     .step = "step=",
                                                     .fields = internlm_fields,
                                                     .ends = " ,",
                                                     .stamped = true}};

}  // namespace

const LogDialect internlm_log = {
    .tool = {.name = "internlm", .label = "InternLM", .rate_name = "tflops"},
    .patterns = internlm_patterns};

}  // namespace stepscope

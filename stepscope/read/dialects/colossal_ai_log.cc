// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "[3/10] Loss:10.871, Step time: 0.512s, TFLOPS: 45.104, FWD time: 0.131s, BWD time: 0.290s, OPTIM
// time: 0.091s" of the examples (ColossalAI/examples/language/gpt/gemini/train_gpt_demo.py).
constexpr std::array<LogField, 6> colossal_ai_fields = {{
    {", Step time: ", &LogRecord::wall_ns, 1e9, LogPlace::behind, "s"},
    {"] Loss:", &LogRecord::loss},
    {", TFLOPS: ", &LogRecord::flops_per_s, 1e12},
    {", FWD time: ", nullptr, 1e3, LogPlace::behind, "s"},
    {", BWD time: ", nullptr, 1e3, LogPlace::behind, "s"},
    {", OPTIM time: ", nullptr, 1e3, LogPlace::behind, "s"},
}};
constexpr std::array colossal_ai_patterns = {LogPattern{.word = ", Step time: ",
                                                        .step = "[",
                                                        .fields = colossal_ai_fields,
                                                        .ends = " ,",
                                                        .behind_step = "/",
                                                        .shared = true}};

}  // namespace

const LogDialect colossal_ai_log = {
    .tool = {.name = "colossal_ai", .label = "ColossalAI", .rate_name = "TFLOPS"},
    .patterns = colossal_ai_patterns,
    .how = "the step's time"};

}  // namespace stepscope

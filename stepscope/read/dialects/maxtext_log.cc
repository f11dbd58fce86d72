// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "completed step: 9, seconds: 1.341, TFLOP/s/device: 257.929, Tokens/s/device: 36653.244, …,
// loss: 10.374". A truncated step may be followed by another line's time.
constexpr std::array<LogField, 5> maxtext_fields = {{
    {", seconds: ", &LogRecord::wall_ns, 1e9},
    {", loss: ", &LogRecord::loss},
    {", Tokens/s/device: ", &LogRecord::tokens_per_s_device},
    {", TFLOP/s: ", &LogRecord::flops_per_s, 1e12},  // also per device, in older versions
    {", TFLOP/s/device: ", &LogRecord::flops_per_s, 1e12},
}};
constexpr std::array maxtext_patterns = {LogPattern{.word = "completed step: ",
                                                    .step = "completed step: ",
                                                    .fields = maxtext_fields,
                                                    .ends = " ,",
                                                    .behind_step = ", seconds: "}};

}  // namespace

const LogDialect maxtext_log = {
    .tool = {.name = "maxtext", .label = "MaxText", .counting = FlopCounting::half_or_all},
    .patterns = maxtext_patterns,
    .how = "the step's time"};

}  // namespace stepscope

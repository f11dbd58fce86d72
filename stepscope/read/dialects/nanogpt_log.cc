// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "iter 100: loss 3.2145, time 135.12ms, mfu 17.51%" (train.py). Forks leave the MFU out.
constexpr std::array<LogField, 3> nanogpt_fields = {{
    {", time ", &LogRecord::wall_ns, 1e6, LogPlace::behind, "ms"},
    {"loss ", &LogRecord::loss},
    {", mfu ", &LogRecord::mfu, percent},
}};
constexpr LogPattern nanogpt_pattern = {.word = ", time ",
                                        .step = "iter ",
                                        .fields = nanogpt_fields,
                                        .ends = " ,",
                                        .positive = true,
                                        .shared = true};

bool take_nanogpt_record(const LogLine& line, LogState& state) {
  const LogRecord* record = take_record(nanogpt_log.tool, nanogpt_pattern, line, state);
  if (record == nullptr) return false;
  if (record->mfu)
    state.log.settings.try_emplace("mfu_peak", "312000000000000");  // for every device
  return true;
}

constexpr std::array nanogpt_words = {LogWord{nanogpt_pattern.word, take_nanogpt_record}};

}  // namespace

const LogDialect nanogpt_log = {
    .tool = {.name = "nanogpt", .label = "nanoGPT", .counting = FlopCounting::nanogpt},
    .words = nanogpt_words,
    .how = "the step's time"};

}  // namespace stepscope

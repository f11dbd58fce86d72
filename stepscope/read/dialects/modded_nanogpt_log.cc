// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "step:126/1750 train_time:12432ms step_avg:98.67ms", with val_loss or train_loss before
// train_time (train_gpt.py of modded-nanogpt). train_time is the sum over the steps, without
// evaluation; step_avg is a mean over all steps so far.
constexpr std::array<LogField, 2> modded_nanogpt_fields = {{
    {"train_time:", &LogRecord::elapsed_s, 1e-3, LogPlace::behind, "ms"},
    {"_loss:", &LogRecord::loss},
}};
// The records of another optimizer print seconds: "train_time:23.965s step_avg:191.72ms".
constexpr std::array<LogField, 2> modded_nanogpt_seconds = {{
    {"train_time:", &LogRecord::elapsed_s, 1, LogPlace::behind, "s"},
    {"_loss:", &LogRecord::loss},
}};
constexpr std::array modded_nanogpt_patterns = {LogPattern{.word = "ms step_avg:",
                                                           .step = "step:",
                                                           .fields = modded_nanogpt_fields,
                                                           .behind_step = "/",
                                                           .shared = true},
                                                LogPattern{.word = "s step_avg:",
                                                           .step = "step:",
                                                           .fields = modded_nanogpt_seconds,
                                                           .behind_step = "/",
                                                           .shared = true}};

}  // namespace

const LogDialect modded_nanogpt_log = {
    .tool = {.name = "modded_nanogpt", .label = "modded-nanogpt"},
    .patterns = modded_nanogpt_patterns};

}  // namespace stepscope

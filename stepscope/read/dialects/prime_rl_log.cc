// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "Step 10 | Time: 12.34s | Loss: 0.0012 | Entropy: … | LR: … | Throughput: 9120 tokens/s | MFU:
// 31.2% | Peak Mem.: 61.3 GiB" of the trainers (prime_rl/trainer/rl/train.py, sft/train.py), whose
// distilling fork prints "KL Loss".
constexpr std::array<LogField, 5> prime_rl_fields = {{
    {"| Time: ", &LogRecord::wall_ns, 1e9, LogPlace::behind, "s"},
    {"Loss: ", &LogRecord::loss},
    {"| Throughput: ", &LogRecord::tokens_per_s},
    {"| MFU: ", &LogRecord::mfu, percent},
    {"| Peak Mem.: ", &LogRecord::memory_bytes, gib_bytes},
}};
constexpr LogPattern prime_rl_line = {.word = "s | Loss: ",
                                      .step = "Step ",
                                      .fields = prime_rl_fields,
                                      .ends = " |/",
                                      .shared = true};
constexpr LogPattern with_word(LogPattern pattern, std::string_view word) {
  pattern.word = word;
  return pattern;
}
constexpr std::array prime_rl_patterns = {prime_rl_line, with_word(prime_rl_line, "s | KL Loss: ")};

// "Step 10 | Time: 40.12s | Reward: 0.4125 | …" of the orchestrator, whose step holds the rollouts.
constexpr std::array<LogField, 2> orchestrator_fields = {{
    {"| Time: ", &LogRecord::wall_ns, 1e9, LogPlace::behind, "s"},
    {"| Throughput: ", &LogRecord::tokens_per_s},
}};
constexpr std::array orchestrator_patterns = {LogPattern{
    .word = "s | Reward: ", .step = "Step ", .fields = orchestrator_fields, .shared = true}};

}  // namespace

const LogDialect prime_rl_log = {.tool = {.name = "prime_rl", .label = "prime-rl"},
                                 .patterns = prime_rl_patterns,
                                 .how = "the step's time"};

const LogDialect prime_rl_orchestrator_log = {
    .tool = {.name = "prime_rl_orchestrator", .label = "prime-rl's orchestrator"},
    .patterns = orchestrator_patterns,
    .how = "the step's time"};

}  // namespace stepscope

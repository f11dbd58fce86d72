// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "… [step=12/739328]" with its metrics on the lines below: "    train/CrossEntropyLoss=10.87",
// "    throughput/device/batches_per_second=0.1053" (log_metrics_to_console in olmo/train.py of
// OLMo);
// "[step=12/1000,epoch=1,eta=…]" with "    throughput/device/BPS=0.105" (console_logger.py and
// speed_monitor.py of OLMo-core). Thousands have commas. OLMo's rates are means over the window of
// its speed monitor, OLMo-core's are of the step.
constexpr std::array<LogField, 9> olmo_fields = {{
    {"throughput/device/batches_per_second=", &LogRecord::wall_ns, per_second},
    {"throughput/device/BPS=", &LogRecord::wall_ns, per_second},
    {"train/CrossEntropyLoss=", &LogRecord::loss},
    {"train/CE loss=", &LogRecord::loss},
    {"throughput/device/tokens_per_second=", &LogRecord::tokens_per_s_device},
    {"throughput/device/TPS=", &LogRecord::tokens_per_s_device},
    {"throughput/device/MFU=", &LogRecord::mfu, percent},
    {"System/Peak GPU Memory (MB)=", &LogRecord::memory_bytes, 1e6},
    {"gpu_memory/GPU reserved mem (GiB)=", &LogRecord::memory_bytes, gib_bytes},
}};
constexpr std::span<const LogField> olmo_span = olmo_fields;
constexpr LogPattern olmo_line(std::size_t at) {
  return {.word = olmo_span[at].name,
          .fields = olmo_span.subspan(at, 1),
          .ends = " ",
          .positive = true};
}
constexpr std::array olmo_patterns = {
    LogPattern{.word = "[step=", .step = "[step=", .stamped = true},
    olmo_line(0),
    olmo_line(1),
    olmo_line(2),
    olmo_line(3),
    olmo_line(4),
    olmo_line(5),
    olmo_line(6),
    olmo_line(7),
    olmo_line(8)};

}  // namespace

const LogDialect olmo_log = {.tool = {.name = "olmo", .label = "OLMo"},
                             .patterns = olmo_patterns,
                             .how = "1 / batches per second"};

}  // namespace stepscope

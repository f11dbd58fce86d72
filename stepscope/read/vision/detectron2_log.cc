// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "[11/24 17:17:38 d2.utils.events]:  eta: 0:03:49  iter: 19  total_loss: 5.922  loss_cls: 1.709
// time: 0.8241  last_time: 0.7914  data_time: 0.0461  last_data_time: 0.0050  lr: 3.9962e-05
// max_mem: 1966M" (CommonMetricPrinter in detectron2/utils/events.py). `time` is the mean since the
// begin. Older versions do not print the last step's.
constexpr std::array<LogField, 4> detectron2_fields = {{
    {"  last_time: ", &LogRecord::wall_ns, 1e9},
    {"  total_loss: ", &LogRecord::loss},
    {"  last_data_time: ", nullptr, 1e3},
    {"max_mem: ", &LogRecord::memory_bytes, mib_bytes, LogPlace::behind, "M"},
}};
constexpr std::array<LogField, 4> detectron2_mean_fields = {{
    {"  time: ", &LogRecord::wall_ns, 1e9},
    {"  total_loss: ", &LogRecord::loss},
    {"  data_time: ", nullptr, 1e3},
    {"max_mem: ", &LogRecord::memory_bytes, mib_bytes, LogPlace::behind, "M"},
}};
constexpr std::string_view detectron2_word = "d2.utils.events";
constexpr LogPattern detectron2_line(std::span<const LogField> fields) {
  return {.word = detectron2_word, .step = "iter: ", .fields = fields, .ends = " ", .shared = true};
}

bool take_detectron2_line(const LogLine& line, LogState& state) {
  const bool last = contains(line.text, detectron2_fields.front().name);
  const LogPattern pattern =
      last ? detectron2_line(detectron2_fields) : detectron2_line(detectron2_mean_fields);
  return take_record(detectron2_log.tool, pattern, line, state) != nullptr;
}

constexpr std::array detectron2_words = {LogWord{detectron2_word, take_detectron2_line}};

}  // namespace

const LogDialect detectron2_log = {.tool = {.name = "detectron2", .label = "detectron2"},
                                   .words = detectron2_words,
                                   .how = "last_time, or time, the mean since the begin"};

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
// Logs of composer and llm-foundry: "[epoch=1][batch=12/4800]:", and on the lines below it
// "\t Train throughput/batches_per_sec: 0.1053" (composer/loggers/console_logger.py; the rates are
// means over the window of callbacks/speed_monitor.py).
#include <algorithm>
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

constexpr std::string_view composer_batch = "[batch=";

// The batch is counted within its epoch.
bool take_composer_head(const LogLine& line, LogState& state) {
  close_record(composer_log.tool, state);
  const std::size_t at = line.text.find(composer_batch);
  const std::string_view place = line.text.substr(at + composer_batch.size(), 48);  // "12/4800]:"
  const std::string_view inside = place.substr(0, place.find(']'));
  const std::size_t slash = std::min(inside.find('/'), inside.size());
  const auto batch = clean_integer(inside.substr(0, slash));
  if (inside.size() == place.size() || !batch || *batch < 0) return false;
  LogRecord& record = state.open[&composer_log.tool];
  record.rank = line.rank;
  record.epoch = epoch_of_line(line.text);
  record.iteration = *batch;
  record.stamp = stamp_of_line(line.text);
  return true;
}

constexpr std::array<LogField, 7> composer_fields = {{
    {"Train throughput/batches_per_sec: ", &LogRecord::wall_ns, per_second},
    {"Train loss/train/total: ", &LogRecord::loss},
    {"Train throughput/tokens_per_sec: ", &LogRecord::tokens_per_s},
    {"Train throughput/device/tokens_per_sec: ", &LogRecord::tokens_per_s_device},
    {"Train throughput/device/flops_per_sec: ", &LogRecord::flops_per_s},
    {"Train throughput/device/mfu: ", &LogRecord::mfu},
    {"Train memory/peak_reserved_mem: ", &LogRecord::memory_bytes, 1e9},
}};
constexpr std::span<const LogField> composer_span = composer_fields;
constexpr LogPattern composer_line(std::size_t at) {
  return {.word = composer_span[at].name,
          .fields = composer_span.subspan(at, 1),
          .ends = " ",
          .positive = true};
}
constexpr std::array composer_patterns = {composer_line(0), composer_line(1), composer_line(2),
                                          composer_line(3), composer_line(4), composer_line(5),
                                          composer_line(6)};
constexpr std::array composer_words = {LogWord{composer_batch, take_composer_head}};

}  // namespace

const LogDialect composer_log = {.tool = {.name = "composer",
                                          .label = "composer",
                                          .rate_name = "throughput/device/flops_per_sec"},
                                 .words = composer_words,
                                 .patterns = composer_patterns,
                                 .how = "1 / batches_per_sec"};

}  // namespace stepscope

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "completed step: 9, seconds: 1.341, TFLOP/s/device: 257.929, Tokens/s/device: 36653.244, …,
// loss: 10.374".
bool take_maxtext_record(const LogLine& line, LogState& state) {
  constexpr std::string_view key = "completed step: ";
  const std::size_t at = line.text.find(key);
  if (at == std::string_view::npos) return false;
  const std::string_view text = line.text.substr(at);
  const auto field = [&](std::string_view name) { return clean_number_behind(text, name, " ,"); };
  const std::string_view number = text.substr(key.size(), text.find(',') - key.size());
  const auto step = clean_integer(number);
  // A truncated step may be followed by another line's time.
  const bool whole = text.substr(key.size() + number.size()).starts_with(", seconds: ");
  const auto seconds = field(", seconds: ");
  if (!step || !whole || !seconds || *step < 0 || !(*seconds > 0) || !std::isfinite(*seconds)) {
    state.note("records_cut");
    return false;
  }
  LogRecord& record = state.add(maxtext_log.tool, line);
  record.iteration = *step;
  record.wall_ns = *seconds * 1e9;
  set_loss(record, field(", loss: "));
  record.tokens_per_s_device = field(", Tokens/s/device: ");
  auto rate = field(", TFLOP/s/device: ");
  if (!rate) rate = field(", TFLOP/s: ");  // also per device, in older versions
  if (rate) record.flops_per_s = *rate * 1e12;
  count_line(state.log, maxtext_log.tool);
  return true;
}

constexpr std::array maxtext_words = {LogWord{"completed step: ", take_maxtext_record}};

}  // namespace

const LogDialect maxtext_log = {
    .tool = {.name = "maxtext", .label = "MaxText", .counting = FlopCounting::half_or_all},
    .words = maxtext_words,
    .how = "the step's time"};

}  // namespace stepscope

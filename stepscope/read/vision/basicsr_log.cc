// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "20,100, lr" has commas between digits, and one behind them.
std::optional<std::int64_t> grouped_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == ',' && end + 1 < text.size() &&
                                                       is_digit(text[end + 1]))))
    ++end;
  const auto number = clean_number(text.substr(0, end));
  if (end == 0 || !number || *number >= 1e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// "[epoch:207, iter:  20,100, lr:(1.000e-04,)] [eta: 1 day, 18:13:17, time (data): 0.365 (0.002)]
// l_pix: 3.1e-04" (MessageLogger in basicsr/utils/logger.py): seconds of a step, and of its wait
// for data. Losses have the names that the model gives them.
bool take_basicsr_line(const LogLine& line, LogState& state) {
  constexpr std::string_view step_name = "iter:";
  constexpr std::string_view time_name = "time (data): ";
  const std::size_t at = line.text.find(step_name);
  const auto seconds = clean_number_behind(line.text, time_name, " ");
  if (at == std::string_view::npos || !seconds || !(*seconds > 0)) return false;
  const auto step = grouped_number(trimmed(line.text.substr(at + step_name.size())));
  if (!step) return false;
  LogRecord& record = state.add(basicsr_log.tool, line);
  record.iteration = *step;
  record.wall_ns = *seconds * 1e9;
  const std::size_t time_at = line.text.find(time_name) + time_name.size();
  const std::string_view behind = line.text.substr(time_at);
  if (const auto data = clean_number_behind(behind, " (", ")"); data && *data >= 0)
    state.time(basicsr_log.tool, "data", *data * 1e3);
  count_line(state.log, basicsr_log.tool);
  return true;
}

constexpr std::array basicsr_words = {LogWord{"time (data): ", take_basicsr_line}};

}  // namespace

const LogDialect basicsr_log = {
    .tool = {.name = "basicsr", .label = "BasicSR"}, .words = basicsr_words, .how = "time"};

}  // namespace stepscope

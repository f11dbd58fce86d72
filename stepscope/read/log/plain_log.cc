// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "stepscope/base/number_text.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

// The whole number behind "step" or "iteration"; '=', ':', quotes or blanks may be between.
std::int64_t number_of_step(std::string_view text) {
  for (const std::string_view key : {"step", "iteration", "iter"})
    for (std::size_t at = text.find(key); at != std::string_view::npos;
         at = text.find(key, at + 1)) {
      std::size_t from = at + key.size();
      while (from < text.size() && (text[from] == ' ' || text[from] == ':' || text[from] == '=' ||
                                    text[from] == '"' || text[from] == '#'))
        ++from;
      std::string_view rest = text.substr(from);
      const auto number = take_number<std::int64_t>(rest);
      const bool whole = rest.find_first_of(".eE") != 0;
      if (number && whole && from > at + key.size() && *number >= 0) return *number;
    }
  return -1;
}

// "412.345 ms    12.6 k tokens/s".
std::optional<double> tokens_per_second(std::string_view text) {
  const std::size_t end = text.find(" tokens/s");
  const std::size_t begin = text.find(" ms  ");
  if (end == std::string_view::npos || begin == std::string_view::npos || begin > end)
    return std::nullopt;
  const auto value = number_and_unit(text.substr(begin + 4, end - begin - 4));
  if (!value || !std::isfinite(value->number)) return std::nullopt;
  const std::string_view unit = value->unit;
  const double factor = unit.empty()  ? 1
                        : unit == "k" ? 1e3
                        : unit == "M" ? 1e6
                        : unit == "G" ? 1e9
                                      : 0;
  return factor > 0 ? std::optional(value->number * factor) : std::nullopt;
}

// "step     3  loss 4.2242  …  412.345 ms  571 tokens/s" from stepscope train.
constexpr std::array<LogField, 3> stepscope_fields = {{
    {" ms  ", &LogRecord::wall_ns, 1e6, LogPlace::before},
    {"  loss ", &LogRecord::loss},
    {" % MFU", &LogRecord::mfu, percent, LogPlace::before},
}};
constexpr LogPattern stepscope_pattern = {
    .word = "  loss ", .step = "step ", .fields = stepscope_fields, .shared = true};

bool take_stepscope_record(const LogLine& line, LogState& state) {
  if (!line.text.starts_with(stepscope_pattern.step)) return false;
  LogRecord* const record = take_record(stepscope_log.tool, stepscope_pattern, line, state);
  if (record == nullptr) return false;
  record->tokens_per_s = tokens_per_second(line.text);
  if (contains(line.text, "  SKIPPED")) record->skipped = 1;
  return true;
}

// "step 3: step_time_ms=12.5", also as JSON.
bool take_named_time(const LogLine& line, LogState& state) {
  const auto ns = named_time(line.text, state.assumed);
  if (!ns) return false;
  LogRecord& record = state.add(program_log.tool, line);
  record.wall_ns = *ns;
  record.iteration = number_of_step(line.text);
  if (const auto loss = clean_number_behind(line.text, "loss=", " ,;}")) set_loss(record, loss);
  count_line(state.log, program_log.tool);
  return true;
}

constexpr std::array stepscope_words = {LogWord{stepscope_pattern.word, take_stepscope_record}};
constexpr std::array program_words = {LogWord{"step_time", take_named_time},
                                      LogWord{"iteration_time", take_named_time},
                                      LogWord{"iter_time", take_named_time}};

}  // namespace

const LogDialect stepscope_log = {.tool = {.name = "stepscope",
                                           .label = "stepscope train",
                                           .counting = FlopCounting::causal_halved},
                                  .words = stepscope_words,
                                  .how = "the step's time"};

const LogDialect program_log = {
    .tool = program_lines, .words = program_words, .how = "named step times", .is_tool = false};

}  // namespace stepscope

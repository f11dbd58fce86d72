// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>

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
      std::int64_t number = 0;
      const auto [end, error] =
          std::from_chars(text.data() + from, text.data() + text.size(), number);
      const bool whole = error == std::errc() && (end == text.data() + text.size() ||
                                                  (*end != '.' && *end != 'e' && *end != 'E'));
      if (whole && from > at + key.size() && number >= 0) return number;
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
bool take_stepscope_record(const LogLine& line, LogState& state) {
  const auto ns = train_time(line.text);
  if (!ns) return false;
  const auto step = clean_number_behind(line.text, "step ");
  if (!step || !(*step >= 0 && *step < 1e15)) {
    state.note("records_cut");
    return false;
  }
  LogRecord& record = state.add(stepscope_log.tool, line);
  record.iteration = static_cast<std::int64_t>(*step);
  record.wall_ns = *ns;
  set_loss(record, clean_number_behind(line.text, "  loss "));
  record.tokens_per_s = tokens_per_second(line.text);
  if (line.text.find("  SKIPPED") != std::string_view::npos) record.skipped = 1;
  if (const std::size_t mfu = line.text.find(" % MFU"); mfu != std::string_view::npos) {
    const std::string_view before = line.text.substr(0, mfu);
    const std::size_t blank = before.rfind(' ');
    if (const auto share = clean_number(before.substr(blank + 1))) record.mfu = *share / 100;
  }
  count_line(state.log, stepscope_log.tool);
  return true;
}

// "step 3: step_time_ms=12.5", also as JSON.
bool take_named_time(const LogLine& line, LogState& state) {
  const auto ns = named_time(line.text, state.assumed);
  if (!ns) return false;
  LogRecord& record = state.add(program_log.tool, line);
  record.wall_ns = *ns;
  record.iteration = number_of_step(line.text);
  if (const auto loss = clean_number_behind(line.text, "loss=", " ,;}")) record.loss = loss;
  count_line(state.log, program_log.tool);
  return true;
}

constexpr std::array stepscope_words = {LogWord{"  loss ", take_stepscope_record}};
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
    .tool = program_lines, .words = program_words, .how = "named step times"};

}  // namespace stepscope

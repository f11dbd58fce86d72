// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "stepscope/base/number_text.h"
#include "stepscope/read/log/line_numbers.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/settled_unit.h"
#include "stepscope/read/log/step_parts.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

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
  const auto time = named_time(line.text, state.reading.assumed());
  if (!time) return false;
  // Such a name may be that of the wait for data: ESPnet's iter_time.
  constexpr double rounding = 0.8;
  if (time->ns < rounding * longest_named_part(line.text, state.reading.assumed())) {
    state.note("times_shorter_than_their_parts");
    return false;
  }
  LogRecord& record = state.add(program_log.tool, line);
  record.wall_ns = time->ns;
  record.epoch = epoch_of_line(line.text);
  record.iteration = number_of_step(line.text);
  record.unit_assumed = time->unit_assumed;
  // Stamps settle the unit that neither the line nor the user names.
  if (time->unit_assumed && !state.reading.unit) record.stamp = stamp_of_line(line.text);
  if (const auto loss = clean_number_behind(line.text, "loss=", " ,;}")) set_loss(record, loss);
  record.work = clean_number_behind(line.text, " size: ");  // YOLOX draws that of its images
  count_line(state.log, program_log.tool);
  return true;
}

bool lacks_unit(const LogRecord& r) { return r.tool == &program_log.tool && r.unit_assumed; }

// Where the time stamps of the lines allow one unit alone, the times have that.
void settle_times(JobLog& log) {
  TimesByInstants times;
  std::map<std::int32_t, const LogRecord*> last;  // by rank
  for (const LogRecord& r : log.records) {
    if (!lacks_unit(r) || !r.stamp || r.iteration < 0 || !r.wall_ns) continue;
    const LogRecord*& before = last[r.rank];
    if (before != nullptr && !r.evaluated && !r.saved && r.launch == before->launch)
      times.add(*before->stamp, *r.stamp, static_cast<double>(r.iteration - before->iteration),
                *r.wall_ns / ns_per(usual_unit));
    before = &r;
  }
  const auto unit = settled_unit(times, {}, usual_unit).unit;
  if (!unit) return;
  log.unit_by_stamps = true;
  for (LogRecord& r : log.records) {
    if (!lacks_unit(r)) continue;
    if (r.wall_ns) r.wall_ns = *r.wall_ns * (ns_per(*unit) / ns_per(usual_unit));
    r.unit_assumed = false;
  }
}

LogSteps program_steps(const JobLog& log) {
  LogSteps steps =
      place_steps(log, program_log, StepsBy::lines,
                  log.unit_by_stamps ? "named step times, in the unit that fits its time stamps"
                                     : program_log.how,
                  [](const LogRecord& /*record*/) { return true; });
  steps.unit_assumed = std::ranges::any_of(log.records, lacks_unit);
  return steps;
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

// Lines that a user describes (line_pattern.h); read_job_log.cc reads them.
namespace {

bool any_line(const LogRecord& /*record*/) { return true; }

// A pattern that names a time since the begin means it, though the lines may have stamps.
LogSteps pattern_steps(const JobLog& log) {
  LogSteps steps = place_steps(log, pattern_log, StepsBy::lines, "the step's time", any_line);
  if (!steps.steps.empty()) return steps;
  steps = place_steps(log, pattern_log, StepsBy::elapsed, "differences of the time since its begin",
                      any_line);
  if (!steps.steps.empty()) return steps;
  return place_steps(log, pattern_log, StepsBy::stamps, by_stamps, any_line);
}

}  // namespace

const LogDialect pattern_log = {.tool = {.name = "pattern", .label = "lines of the given pattern"},
                                .is_tool = false,
                                .steps = pattern_steps};

const LogDialect program_log = {.tool = program_lines,
                                .words = program_words,
                                .how = "named step times",
                                .is_tool = false,
                                .steps = program_steps,
                                .settle = settle_times};

}  // namespace stepscope

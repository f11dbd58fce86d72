// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/read/log/duration_text.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/step_table.h"
#include "stepscope/read/log/taken_steps.h"

namespace stepscope {
namespace {

// The value of a key as it is written; that of a text without its quotes. Empty without the key.
std::string_view value_of_key(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    std::string_view rest = line.substr(at + key.size());
    if (at == 0 || line[at - 1] != '"' || !rest.starts_with('"')) continue;
    rest = trimmed(rest.substr(1));
    if (!rest.starts_with(':')) continue;
    rest = trimmed(rest.substr(1));
    if (rest.starts_with('"')) return rest.substr(1, rest.find('"', 1) - 1);
    return trimmed(rest.substr(0, rest.find_first_of(",}")));
  }
  return {};
}

std::optional<double> amount_of_key(std::string_view line, std::string_view key) {
  return clean_number(value_of_key(line, key));
}

// The number of "12", 12 or "12/500"; -1 without one.
std::int64_t number_of_row(std::string_view line) {
  constexpr std::array<std::string_view, 6> keys = {
      "global_step", "global_step/max_steps", "current_steps", "step", "iteration", "iter"};
  for (const std::string_view key : keys) {
    const std::string_view value = value_of_key(line, key);
    const auto number = clean_integer(value.substr(0, value.find('/')));
    if (number && *number >= 0) return *number;
  }
  return -1;
}

using ElapsedTimes = std::map<std::int32_t, std::optional<double>>;  // of the last row, by rank

// A time since the begin is in whole seconds: over less than this its differences say little.
constexpr double least_elapsed_s = 20;

bool has_value(std::string_view value) { return !value.empty() && value != "null"; }

// {"current_steps": 3210, "total_steps": 3235, "loss": 4.4, …, "elapsed_time": "5:14:24", …} of
// LLaMA-Factory (src/llamafactory/train/callbacks.py), {"global_step/max_steps": "5/3766", …,
// "elapsed_time": "1m 29s"} of ms-swift; {"mode": "train", "epoch": 1, "iter": 50, …, "data_time":
// 1.9, …, "time": 2.6} of OpenMMLab and detectron2, in seconds. The unit of "time" of other
// programs is not known.
bool take_json_row(const LogLine& line, LogState& state) {
  const std::string_view row = trimmed(line.text);
  if (!row.starts_with('{') || !row.ends_with('}')) return false;
  const std::string_view mode = value_of_key(row, "mode");
  constexpr std::array<std::string_view, 4> evaluations = {"val", "valid", "eval", "test"};
  if (std::ranges::find(evaluations, mode) != evaluations.end()) {
    state.evaluated.set();
    return true;
  }
  if (has_value(mode) && mode != "train") return false;
  const std::int64_t number = number_of_row(row);
  const auto elapsed = seconds_of_duration(value_of_key(row, "elapsed_time"));
  const auto time = amount_of_key(row, "time");
  const auto data = amount_of_key(row, "data_time");
  const bool timed = time && *time > 0 && std::isfinite(*time);
  if (number < 0 || (!elapsed && !timed)) return false;
  std::any& kept = state.kept[&json_lines_log.tool];
  if (!kept.has_value()) kept = ElapsedTimes();
  std::optional<double>& before = std::any_cast<ElapsedTimes&>(kept)[line.rank];
  if (elapsed && before && *elapsed < *before) {
    state.begin_launch();
    before.reset();
  }
  const bool evaluated = has_value(value_of_key(row, "eval_loss"));
  LogRecord& record = state.add(json_lines_log.tool, line);
  record.evaluated = record.evaluated || evaluated;
  record.epoch = epoch_of_line(row);
  record.iteration = number;
  for (const std::string_view key : {"loss", "total_loss"})
    if (const auto loss = amount_of_key(row, key); loss && !record.loss) set_loss(record, loss);
  if (timed) {
    record.unit_assumed = !data;
    record.wall_ns = *time * (data ? 1e9 : ns_per(state.reading.assumed()));
  }
  if (data && std::isfinite(*data)) {
    state.time(json_lines_log.tool, "data_time", *data * 1e3);
    if (const auto mib = amount_of_key(row, "memory")) record.memory_bytes = *mib * 1024 * 1024;
  }
  if (elapsed && (evaluated || !before || *elapsed - *before >= least_elapsed_s)) {
    record.elapsed_s = *elapsed;
    before = elapsed;
  }
  count_line(state.log, json_lines_log.tool);
  return true;
}

bool is_unitless_row(const LogRecord& r) {
  return r.tool == &json_lines_log.tool && r.unit_assumed;
}

// Few rows do not show that a "time" is no clock.
bool may_be_clocks(const JobLog& log) {
  constexpr std::size_t least_rows = 3;
  std::vector<double> times;
  for (const LogRecord& r : log.records)
    if (is_unitless_row(r) && r.wall_ns) times.push_back(*r.wall_ns);
  return times.size() < least_rows || grow_with_rows(times);
}

LogSteps json_steps(const JobLog& log) {
  constexpr std::string_view how = "time";
  const bool clocks = may_be_clocks(log);
  LogSteps steps =
      clocks ? place_steps(log, json_lines_log, StepsBy::lines, how,
                           [](const LogRecord& r) { return r.wall_ns && !r.unit_assumed; })
             : place_steps(log, json_lines_log, StepsBy::lines, how,
                           [](const LogRecord& r) { return r.wall_ns.has_value(); });
  steps.unit_assumed = !clocks && !steps.steps.empty();
  if (!steps.steps.empty()) return steps;
  return place_steps(log, json_lines_log, StepsBy::elapsed, "differences of elapsed_time",
                     [](const LogRecord& r) { return r.elapsed_s.has_value(); });
}

constexpr std::array json_words = {LogWord{"\"elapsed_time\"", take_json_row},
                                   LogWord{"\"mode\"", take_json_row},
                                   LogWord{"\"time\"", take_json_row}};

}  // namespace

const LogDialect json_lines_log = {.tool = {.name = "json_lines", .label = "JSON lines"},
                                   .words = json_words,
                                   .is_tool = false,
                                   .steps = json_steps};

}  // namespace stepscope

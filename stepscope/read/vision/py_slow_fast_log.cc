// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "json_stats: {"_type": "train_iter_", "dt": 0.81, "dt_data": 0.01, "dt_net": 0.80, "epoch":
// "1/200", "iter": "10/500", "loss": 2.7}" (log_iter_stats in slowfast/utils/meters.py): seconds of
// the step, of its wait for data and of the rest. A row of an epoch has those of its last step.
bool take_py_slow_fast_line(const LogLine& line, LogState& state) {
  std::string_view text = line.text.substr(line.text.find('{'));
  text = text.substr(0, text.rfind('}') + 1);
  const auto json = parse_json(text, "");
  if (!json || json->kind != JsonValue::Kind::object) return state.note("records_cut"), false;
  const auto word = [&](std::string_view key) {
    const JsonValue* value = json->find(key);
    return value != nullptr && value->kind == JsonValue::Kind::text ? std::string_view(value->text)
                                                                    : std::string_view();
  };
  const auto number = [&](std::string_view key) {
    return clean_integer(word(key).substr(0, word(key).find('/')));
  };
  if (word("_type").starts_with("val")) state.evaluated.set();
  if (!word("_type").starts_with("train_iter")) return false;
  const auto seconds = json_number(*json, "dt");
  const auto step = number("iter");
  if (!seconds || !(*seconds > 0) || !step || *step < 0) return state.note("records_cut"), false;
  LogRecord& record = state.add(py_slow_fast_log.tool, line);
  record.iteration = *step;
  const std::int64_t epoch = number("epoch").value_or(-1);
  if (epoch >= 0 && epoch < 1'000'000) record.epoch = static_cast<std::int32_t>(epoch);
  record.wall_ns = *seconds * 1e9;
  if (const auto loss = json_number(*json, "loss")) set_loss(record, loss);
  for (const std::string_view part : {"dt_data", "dt_net"})
    if (const auto s = json_number(*json, part)) state.time(py_slow_fast_log.tool, part, *s * 1e3);
  count_line(state.log, py_slow_fast_log.tool);
  return true;
}

constexpr std::array py_slow_fast_words = {LogWord{"json_stats: {", take_py_slow_fast_line}};

}  // namespace

const LogDialect py_slow_fast_log = {.tool = {.name = "py_slow_fast", .label = "PySlowFast"},
                                     .words = py_slow_fast_words,
                                     .how = "dt"};

}  // namespace stepscope

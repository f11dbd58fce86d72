// SPDX-License-Identifier: Apache-2.0
// Bars of Keras: "101/101 ━━━━━━━━━━━━━━━━━━━━ 73s 509ms/step - accuracy: 0.9699 - loss: 0.1035"
// (keras/src/utils/progbar.py), before Keras 3 "101/101 [======] - 73s 509ms/step - loss: 0.1035",
// with verbose=2 "938/938 - 2s - loss: 0.25 - 2s/epoch - 2ms/step". The time of a step is the mean
// over the steps of the epoch so far but the first, in whole units. The last line of an epoch has
// the time since its begin, and both hold the validation where it shows values of that.
#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/read/log/duration_text.h"
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

struct KerasBar {
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: unknown
  double step_s = 0;
  double unit_s = 0;         // of step_s, which is rounded
  double since_begin_s = 0;  // where the bar is complete; 0: none
};

constexpr std::int64_t most_steps = 1'000'000'000'000;

// "12/100" or "12/Unknown", cut off the text.
std::optional<KerasBar> take_place(std::string_view& text) {
  constexpr std::string_view unknown = "Unknown";
  const auto done = take_number<std::int64_t>(text);
  if (!done || *done < 1 || *done > most_steps || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  KerasBar bar{.done = *done};
  if (text.starts_with(unknown)) {
    text.remove_prefix(unknown.size());
    return bar;
  }
  const auto total = take_number<std::int64_t>(text);
  if (!total || *total < *done) return std::nullopt;
  bar.total = *total;
  return bar;
}

std::optional<KerasBar> bar_of(std::string_view line) {
  std::string_view text = trimmed(line);
  auto bar = take_place(text);
  const std::size_t unit = text.find("s/step");
  if (!bar || unit == std::string_view::npos) return std::nullopt;
  text = text.substr(0, unit + 1);
  std::size_t begin = text.rfind(' ') + 1;
  std::string_view step = text.substr(begin);
  const auto seconds = seconds_of_duration(step);
  const auto number = take_number<std::int64_t>(step);
  if (!seconds || !number || *number < 1 || step.starts_with('.')) return std::nullopt;
  bar->step_s = *seconds;
  bar->unit_s = *seconds / static_cast<double>(*number);
  if (bar->done != bar->total) return bar;  // else the time that is left
  for (text = text.substr(0, begin); !text.empty(); text.remove_prefix(begin)) {
    begin = std::min(text.find(' '), text.size() - 1) + 1;
    const auto since = seconds_of_duration(text.substr(0, begin));
    if (!since) continue;
    bar->since_begin_s = *since;
    break;
  }
  return bar;
}

// By the time since the begin if that has more digits and agrees.
double mean_of(const KerasBar& bar) {
  const auto steps = static_cast<double>(bar.done);
  const double by_begin = bar.since_begin_s / steps;
  const double error = 0.5 / steps;
  const bool agrees = std::fabs(by_begin - bar.step_s) <= bar.unit_s / 2 + error;
  return agrees && error < bar.unit_s / 2 ? by_begin : bar.step_s;
}

// The bar whose lines come.
struct KerasState {
  std::int32_t next_epoch = -1;  // of a line "Epoch 2/5" before it
  bool names_epochs = false;     // such lines stand before bars of training
  KerasBar bar{};
};

KerasState& keras_state(LogState& state) {
  std::any& kept = state.kept[&keras_log.tool];
  if (!kept.has_value()) kept = KerasState();
  return std::any_cast<KerasState&>(kept);
}

bool take_keras_epoch(const LogLine& line, LogState& state) {
  constexpr std::string_view title = "Epoch ";
  std::string_view text = trimmed(line.text);
  if (!text.starts_with(title)) return false;
  text.remove_prefix(title.size());
  const auto epoch = take_number<std::int32_t>(text);
  if (!epoch || *epoch < 0 || !text.starts_with('/')) return false;
  if (!number_of<std::int32_t>(text.substr(1))) return false;
  KerasState& kept = keras_state(state);
  kept.next_epoch = *epoch;
  kept.names_epochs = true;
  return true;
}

// A record is that of a bar, by its last line. evaluate() and predict() show such bars, too.
bool take_keras_bar(const LogLine& line, LogState& state) {
  auto bar = bar_of(line.text);
  if (!bar) return false;
  KerasState& kept = keras_state(state);
  const bool begins = kept.next_epoch >= 0 || !state.open.contains(&keras_log.tool) ||
                      bar->done < kept.bar.done || bar->total != kept.bar.total;
  if (begins) {
    close_record(keras_log.tool, state);
    if (kept.names_epochs && kept.next_epoch < 0) {
      state.note("lines_of_validation_bars");
      return false;
    }
    LogRecord& record = state.open[&keras_log.tool];
    record.rank = line.rank;
    record.epoch = std::exchange(kept.next_epoch, -1);
  } else if (bar->done == kept.bar.done) {  // once more, behind the validation
    bar->step_s = kept.bar.step_s;
    bar->unit_s = kept.bar.unit_s;
  }
  LogRecord& record = state.open[&keras_log.tool];
  if (begins || bar->done > kept.bar.done) record.evaluated = contains(line.text, " val_");
  record.iteration = bar->done;
  record.wall_ns = mean_of(*bar) * giga;
  if (const auto loss = clean_number_behind(line.text, " loss: ", " ")) set_loss(record, loss);
  kept.bar = *bar;
  return true;
}

bool is_bar(const LogRecord& r) { return r.tool == &keras_log.tool; }

// Bars of training are the longest ones where no epochs are named.
void settle_keras(JobLog& log) {
  double longest = 0;
  std::int64_t steps = 0;
  for (const LogRecord& r : log.records) {
    const double wall = static_cast<double>(r.iteration) * r.wall_ns.value_or(0);
    if (!is_bar(r) || wall <= longest) continue;
    longest = wall;
    steps = r.iteration;
  }
  const std::size_t others = std::erase_if(log.records, [&](const LogRecord& r) {
    return is_bar(r) && r.epoch < 0 && r.iteration != steps;
  });
  if (others > 0) log.notes["lines_of_validation_bars"] += others;
}

LogSteps keras_steps(const JobLog& log) {
  LogSteps steps = place_steps(log, keras_log, StepsBy::lines, keras_log.how, is_bar);
  for (LogStep& step : steps.steps) step.steps = std::max<std::int64_t>(step.iteration, 1);
  return steps;
}

constexpr std::array keras_words = {LogWord{"s/step", take_keras_bar},
                                    LogWord{"Epoch ", take_keras_epoch}};

}  // namespace

const LogDialect keras_log = {.tool = {.name = "keras", .label = "Keras"},
                              .words = keras_words,
                              .how = "the mean of an epoch, of its bar",
                              .steps = keras_steps,
                              .settle = settle_keras};

}  // namespace stepscope
